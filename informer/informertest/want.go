package informertest

import (
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/informer"
)

// Want describes a call of a handler that a test expects. It is a value: the
// methods return a Want that demands more.
type Want struct {
	kind    Kind
	key     string
	demands []demand
	after   bool // the call that the Want before it describes
}

// demand is one more thing that a call must satisfy.
type demand struct {
	text string
	met  func(e *Entry, obj any) bool
}

// Added is a call of OnAdd for the object with the key "namespace/name", or
// "name".
func Added(key string) Want { return Want{kind: AddCall, key: key} }

// Updated is a call of OnUpdate.
func Updated(key string) Want { return Want{kind: UpdateCall, key: key} }

// Deleted is a call of OnDelete.
func Deleted(key string) Want { return Want{kind: DeleteCall, key: key} }

// demanding returns w with one more demand.
func (w Want) demanding(text string, met func(e *Entry, obj any) bool) Want {
	w.demands = append(w.demands[:len(w.demands):len(w.demands)], demand{text, met})
	return w
}

// At demands that the object (of Deleted, the last state) has the
// resourceVersion.
func (w Want) At(resourceVersion string) Want {
	return w.demanding("at "+resourceVersion, func(e *Entry, _ any) bool {
		return fmt.Sprint(e.Object.ResourceVersion) == resourceVersion
	})
}

// Initial demands that an add is marked as initial, or that it is not.
func (w Want) Initial(initial bool) Want {
	return w.demanding(fmt.Sprint("initial ", initial), func(e *Entry, _ any) bool { return e.Initial == initial })
}

// Exact demands that a delete is exact, or that it is not.
func (w Want) Exact(exact bool) Want {
	return w.demanding(fmt.Sprint("exact ", exact), func(e *Entry, _ any) bool { return e.Exact == exact })
}

// Where demands something of the object (of Deleted, the last state) of a call
// that w describes; what says it in failures. holds must depend on nothing but
// the object, and is called with no lock held.
func Where[T informer.Object](w Want, what string, holds func(obj T) bool) Want {
	return w.demanding("where "+what, func(_ *Entry, obj any) bool {
		typed, ok := obj.(T)
		return ok && holds(typed)
	})
}

// InOrder demands that the calls come in this order also where their keys
// differ: handlers are told of changes in the order in which the server made
// them, but of a list in no particular order.
func InOrder(wants ...Want) []Want {
	ordered := make([]Want, len(wants))
	for i, w := range wants {
		w.after = i > 0
		ordered[i] = w
	}
	return ordered
}

// String describes the call.
func (w Want) String() string {
	parts := []string{w.kind.String() + " " + w.key}
	for _, d := range w.demands {
		parts = append(parts, d.text)
	}
	if w.after {
		parts = append(parts, "after the one above")
	}
	return strings.Join(parts, ", ")
}

// matches says whether a call is the one that w describes.
func (w Want) matches(c *call) bool {
	if c.entry.Kind != w.kind || c.entry.Key != w.key {
		return false
	}
	for _, d := range w.demands {
		if !d.met(&c.entry, c.object) {
			return false
		}
	}
	return true
}

// call is a call of a handler as it was recorded.
type call struct {
	number int // from 1
	entry  Entry
	object any
}

func (c call) String() string { return fmt.Sprintf("#%d %v", c.number, c.entry) }
