package storage

// Hold lets the watches fall behind: until Release they deliver nothing newer
// than the current revision, and no Progress. Reads and writes go on. It is for
// tests of what follows a store; holding twice moves the bound.
func (m *Memory) Hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held, m.heldAt = true, m.rev
}

// Release ends Hold: the watches deliver what they owe.
func (m *Memory) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = false
	m.all.wake()
	for _, log := range m.topics {
		log.wake()
	}
}

// visible says whether watches may deliver an event. It needs mu.
func (m *Memory) visible(event *Event) bool { return !m.held || event.KV.ModRevision <= m.heldAt }
