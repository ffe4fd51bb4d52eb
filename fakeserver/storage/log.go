package storage

import (
	"slices"
	"sort"
	"strings"
)

// eventLog is the shared list of events that watches read from, in the order of
// revisions. It is a linked list, so that an open watch keeps what it has not
// read alive by itself and nobody else needs to know where it stands.
//
// Its methods need the store's mutex.
type eventLog struct {
	// head precedes the first retained event; its own event was trimmed or never was.
	head *logNode
	// tail is the newest node (head if there is none).
	tail *logNode
	// index holds the retained nodes, for starting in the middle.
	index []*logNode
	// usage is that of the newest versions of the keys whose events are here.
	usage Usage
	// changed is closed at the next append, or when watches may deliver more than
	// before; nil while nobody waits.
	changed chan struct{}
}

// logNode is one event of a log. Invariant: event revisions grow along next.
type logNode struct {
	event *Event
	next  *logNode
}

func newEventLog() *eventLog {
	sentinel := &logNode{}
	return &eventLog{head: sentinel, tail: sentinel}
}

// append adds the newest event and wakes who waits for it.
func (l *eventLog) append(event *Event) {
	node := &logNode{event: event}
	l.tail.next = node
	l.tail = node
	l.index = append(l.index, node)
	l.usage.follow(event)
	l.wake()
}

// wake wakes who waits for an event.
func (l *eventLog) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// wait returns a channel that is closed at the next append.
func (l *eventLog) wait() <-chan struct{} {
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// after returns the last node whose revision is at most revision.
func (l *eventLog) after(revision int64) *logNode {
	i := l.search(revision)
	if i == 0 {
		return l.head
	}
	return l.index[i-1]
}

// search returns how many retained events have a revision of at most revision.
func (l *eventLog) search(revision int64) int {
	return sort.Search(len(l.index), func(i int) bool { return l.index[i].event.KV.ModRevision > revision })
}

// trim forgets the events up to and including revision.
func (l *eventLog) trim(revision int64) {
	i := l.search(revision)
	if i == 0 {
		return
	}
	l.head = l.index[i-1]
	l.index = slices.Clone(l.index[i:])
}

// topicOf returns the first segment of a key or prefix with its slashes
// ("/pods/"), or "/" if it has no complete one. All keys under one resource's
// prefix share a topic, so that a watch of one resource neither reads nor is
// woken by the events of others.
func topicOf(key string) string {
	if key == "" || key[0] != '/' {
		return "/"
	}
	end := strings.IndexByte(key[1:], '/')
	if end < 0 {
		return "/"
	}
	return key[:end+2]
}
