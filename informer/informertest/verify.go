package informertest

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VerifyOptions say what a trace may contain. The zero value is right for a
// handler that gets every change, without resync, and for readers.
type VerifyOptions struct {
	// LatestOnly: the handler gets the latest state per key, so that what it has
	// been told by the sync need not have been the collection at any one moment.
	LatestOnly bool
	// Resyncs: updates may repeat the state that was told last.
	Resyncs bool
	// Filter is what the handler's own filter, informer.WithFilter, lets through.
	// Calls are then judged against History.Filter of it, snapshots against the
	// whole history. An object that left the filter may be deleted with its last
	// state there or, if that was merged with its deletion, with that. An add
	// before the sync need not be initial. The changes must have objects.
	Filter func(metav1.Object) bool
	// Predicate says which updates the handler is told, as that of
	// informer.WithPredicates; it must compare something that the objects have, as
	// informer.LabelsChanged does. The old object of an update may then be newer
	// than what was told, if nobody had to be told of it. The changes must have
	// objects.
	Predicate func(old, updated metav1.Object) bool
	// Parts are what the parts of a joined informer (informer.NewJoined) select,
	// if it is one; history is that of all objects. Each part goes along
	// the history at its own pace: a snapshot has of each what that had at some
	// moment, none of which is before the snapshot's resourceVersion, and an object
	// that moves from one to another may be deleted and added again. The changes
	// must have objects.
	Parts []func(metav1.Object) bool
	// Unmarked: the trace does not say when the handler was in sync, so that
	// SyncMarks and initial adds are not looked at.
	Unmarked bool
}

// Verify proves that the trace could come from a client that keeps the promises
// of package informer over a server with this history, or returns a *Violation,
// which wraps ErrIllegal. It depends on nothing but its arguments.
//
// A trace without a SettledMark may end anywhere; only a SettledMark lets Verify
// notice that something was not told. Record the history up to what the trace
// can have seen, then verify.
func Verify(history *History, trace []Entry, options VerifyOptions) error {
	c := checker{worlds: worldsOf(history.clone(), options), options: options}
	// What a handler reads may be of after a restore when its calls are not yet.
	for _, part := range apart(trace, len(c.worlds) > 1) {
		if found := c.check(part.trace); found != nil {
			v := explain(c, part, *found)
			v.Length = len(trace)
			return v
		}
	}
	return nil
}

// finding is the first thing that is wrong with a trace.
type finding struct {
	rule Rule
	key  string // "" if it is about no particular key
	at   int    // index in the trace
	text string
}

// checker walks along a trace.
type checker struct {
	worlds  []world
	options VerifyOptions
	// fragment: it is part of a trace, so that the first call about a key may
	// continue what was told before.
	fragment bool
	// only, if set, is the one key that a SettledMark is about.
	only string

	progress
}

// progress is how far a checker is in a trace.
type progress struct {
	world        // of worlds
	number   int // of it
	told     map[string]told
	newest   uint64 // resourceVersion that was told
	synced   bool
	read     bool // a snapshot with a resourceVersion
	snapshot uint64
}

// world is what can be known between two restores of the server.
type world struct {
	history *History // that a handler is told
	whole   *History // that snapshots show
	// parts are those of a joined informer, as snapshots show them, and told as a
	// handler is told.
	parts, toldParts []*History
}

// check returns the first finding.
func (c *checker) check(trace []Entry) *finding {
	c.progress = progress{world: c.worlds[0], told: map[string]told{}}
	return c.walk(trace, 0)
}

// walk goes along the trace from an entry on, as far as that is legal in the
// present world; if that is not to the end, it looks for an entry before which the
// trace passes to the next world.
func (c *checker) walk(trace []Entry, from int) *finding {
	var ways []progress // before each entry
	last := c.number == len(c.worlds)-1
	var found *finding
	for i := from; i < len(trace) && found == nil; i++ {
		if !last {
			ways = append(ways, c.progress.clone())
		}
		if found = c.step(&trace[i]); found != nil {
			found.at = i
		}
	}
	if found == nil || last {
		return found
	}
	for k := len(ways) - 1; k >= 0; k-- {
		c.progress = ways[k]
		c.pass()
		other := c.walk(trace, from+k)
		if other == nil {
			return nil
		}
		if other.at > found.at {
			found = other
		}
	}
	return found
}

// told is what the calls about one key add up to.
type told struct {
	exists  bool
	version Version
	// floor is the resourceVersion that the calls have reached: what is told
	// next must be newer.
	floor uint64
	// lost: since a restore there never was such a version.
	lost bool
	// moved: it left one part of several, and may be in another from floor on.
	moved bool
}

func violates(rule Rule, key, format string, args ...any) *finding {
	return &finding{rule: rule, key: key, text: fmt.Sprintf(format, args...)}
}

func (c *checker) step(e *Entry) *finding {
	switch e.Kind {
	case AddCall:
		return c.add(e)
	case UpdateCall:
		return c.update(e)
	case DeleteCall:
		return c.delete(e)
	case SyncMark:
		return c.sync()
	case SettledMark:
		return c.settled(e)
	case SnapshotRead:
		return c.snapshotRead(e)
	default:
		return violates(Ghost, e.Key, "an entry of no kind")
	}
}

// state returns what was told of a key, or what a fragment implies.
func (c *checker) state(key string, implied Version) told {
	was, known := c.told[key]
	if !known && c.fragment && implied != (Version{}) {
		return told{exists: true, version: implied, floor: implied.ResourceVersion}
	}
	return was
}

// tell notes a call.
func (c *checker) tell(key string, now told) {
	c.told[key] = now
	c.newest = max(c.newest, now.floor)
}

func (c *checker) add(e *Entry) *finding {
	was := c.state(e.Key, Version{})
	switch {
	case was.exists:
		return violates(DuplicateAdd, e.Key, "added %s, which the handler has as %s", e.Object, was.version)
	case e.Initial == c.synced && (c.synced || !c.fragment && c.options.Filter == nil) && !c.options.Unmarked:
		return violates(WrongInitial, e.Key, "an add %s the sync with initial %v", map[bool]string{true: "after", false: "before"}[c.synced], e.Initial)
	}
	if found := c.existed(e.Key, e.Object); found != nil {
		return found
	}
	if now := e.Object.ResourceVersion; now < was.floor || now == was.floor && !was.moved {
		return violates(Resurrection, e.Key, "added %s after its deletion, at %d, was told", e.Object, was.floor)
	}
	c.tell(e.Key, told{exists: true, version: e.Object, floor: e.Object.ResourceVersion})
	return nil
}

func (c *checker) update(e *Entry) *finding {
	was := c.state(e.Key, e.Old)
	switch {
	case !was.exists && was.floor > 0 && e.Object.ResourceVersion <= was.floor:
		return violates(Resurrection, e.Key, "updated to %s after its deletion, at %d, was told", e.Object, was.floor)
	case !was.exists:
		return violates(Unknown, e.Key, "updated to %s, but the handler has no such object", e.Object)
	case !e.Old.same(was.version) && !c.untold(e.Key, was, e.Old):
		return violates(WrongOld, e.Key, "old object %s, but what was told last is %s", e.Old, was.version)
	case e.Object.UID != was.version.UID:
		return violates(MixedLives, e.Key, "updated from UID %s to %s", was.version.UID, e.Object.UID)
	}
	if found := c.existed(e.Key, e.Object); found != nil {
		return found
	}
	switch {
	case e.Object.ResourceVersion < was.floor:
		return violates(Backwards, e.Key, "updated from %s to the older %s", was.version, e.Object)
	case e.Object.ResourceVersion == was.floor && !c.options.Resyncs:
		return violates(Repeated, e.Key, "updated from %s to itself", was.version)
	case !c.interesting(e):
		return violates(Repeated, e.Key, "updated from %s to %s, which the predicate lets nobody know", e.Old, e.Object)
	}
	c.tell(e.Key, told{exists: true, version: e.Object, floor: e.Object.ResourceVersion})
	return nil
}

// existed looks for a state in the history.
func (c *checker) existed(key string, v Version) *finding {
	change, exists := c.history.at(key, v.ResourceVersion)
	switch {
	case !exists || !change.Version.is(v):
		return violates(Ghost, key, "%s never existed", v)
	case change.Version.differs(v):
		return violates(WrongContent, key, "%s is not what the server had: %s", v, change.Version)
	}
	return nil
}

func (c *checker) delete(e *Entry) *finding {
	implied := e.Object
	if _, left := c.left(e); e.Exact && !left { // what was told before it was not that
		implied = c.before(e.Key, e.Object)
	}
	was := c.state(e.Key, implied)
	switch {
	case !was.exists && was.floor > 0:
		return violates(Unknown, e.Key, "deleted %s after its deletion, at %d, was told", e.Object, was.floor)
	case !was.exists:
		return violates(Unknown, e.Key, "deleted %s, but the handler has no such object", e.Object)
	case e.Object.UID != was.version.UID:
		return violates(MixedLives, e.Key, "deleted %s, but what was told last is %s", e.Object, was.version)
	case e.Object.ResourceVersion < was.floor:
		return violates(Backwards, e.Key, "the last state %s is older than %s, which was told", e.Object, was.version)
	}
	end, found := c.end(e, was)
	if found != nil {
		return found
	}
	_, left := c.left(e)
	if (!e.Exact || left && len(c.parts) == 0) && !c.options.LatestOnly && !e.Object.same(was.version) && !c.untold(e.Key, was, e.Object) {
		return violates(WrongLast, e.Key, "the last state %s is not %s, which was told last", e.Object, was.version)
	}
	c.tell(e.Key, told{floor: end, moved: e.Exact && len(c.parts) > 0})
	return nil
}

// before is the state that ended with the deletion v, nothing if there is none.
func (c *checker) before(key string, v Version) Version {
	if v.ResourceVersion == 0 {
		return Version{}
	}
	change, exists := c.whole.at(key, v.ResourceVersion-1)
	if !exists || change.Version.UID != v.UID {
		return Version{}
	}
	return change.Version
}
