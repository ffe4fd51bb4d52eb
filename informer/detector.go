package informer

import (
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"
	"weak"

	"github.com/listwatch/listwatch/indexer"
)

// checkPeriod is how much time passes at least between two checks of all objects.
// They are made when a change or bookmark arrives, which servers send about once
// a minute, so that no goroutine or timer is needed.
const checkPeriod = time.Minute

// detector finds objects that were modified after they entered the cache, by
// comparing them with copies. It knows an object as long as anybody can see it:
// in the cache, in an older snapshot, in the notice log, or in a user's hands.
// Safe for concurrent use, but for settle and protect, which are the apply
// loop's.
type detector[T Object] struct {
	informer string
	report   func(*Mutation) // called without any lock held

	checked time.Time // everything

	mu     sync.Mutex // guards the rest
	serial uint64
	guards map[uintptr]*guard[T] // by address; gone after the object is
}

// guard is what is known of one object. It does not keep it alive.
type guard[T Object] struct {
	serial uint64 // tells it from another object at the same address, later
	key    string
	object weak.Pointer[byte]
	copy   T // as it was

	callers  []*Registration // handlers in a call for the object; guarded by the detector's mu
	reported bool            // once is enough; likewise
}

// addressOf is where obj is; nil if it is no pointer.
func addressOf[T Object](obj T) *byte {
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil
	}
	return (*byte)(v.UnsafePointer())
}

// protect checks what a batch takes out of the cache, and everything if it is time
// to, and copies what the batch brings, all of it before anybody is told of the
// batch. What it finds is for settle to report.
func (d *detector[T]) protect(before *indexer.Snapshot[T], out *outcome[T]) (found []*Mutation) {
	if now := time.Now(); now.Sub(d.checked) >= checkPeriod {
		d.checked = now
		found = d.checkAll("at a regular check")
	}
	for k := range out.changes {
		change := &out.changes[k]
		if old, known := before.Get(change.Key); known {
			if m := d.check(d.find(old), old, nil, "on leaving the cache"); m != nil {
				found = append(found, m)
			}
		}
		if !change.Delete {
			d.add(change.Key, change.Object)
		}
	}
	for k := range out.notices {
		if n := &out.notices[k]; n.kind == noticeDelete {
			d.add(n.key, n.obj) // the last state may never have been cached
		}
	}
	return found
}

// add makes a copy of obj, unless there is one. An object whose copy is not equal
// to it (it has something that its DeepCopyObject does not copy) cannot be
// checked, and is left alone.
func (d *detector[T]) add(key string, obj T) {
	address := addressOf(obj)
	if address == nil || d.find(obj) != nil {
		return
	}
	original, ok := deepCopy(obj)
	if !ok || len(changedFields(original, obj)) > 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.serial++
	at := uintptr(unsafe.Pointer(address))
	d.guards[at] = &guard[T]{serial: d.serial, key: key, object: weak.Make(address), copy: original}
	serial := d.serial
	runtime.AddCleanup(address, func(at uintptr) { d.forget(at, serial) }, at)
}

// deepCopy survives types that DeepCopyObject panics for.
func deepCopy[T Object](obj T) (out T, ok bool) {
	defer func() { _ = recover() }()
	out, ok = obj.DeepCopyObject().(T)
	return out, ok
}

// forget removes the guard of an object that is garbage.
func (d *detector[T]) forget(at uintptr, serial uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g := d.guards[at]; g != nil && g.serial == serial {
		delete(d.guards, at)
	}
}

// find returns the guard of obj, nil if it has none.
func (d *detector[T]) find(obj T) *guard[T] {
	address := addressOf(obj)
	if address == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.guards[uintptr(unsafe.Pointer(address))]
	if g == nil || g.object.Value() != address { // of one that was there before
		return nil
	}
	return g
}

// enter notes that a handler is going to be called for obj.
func (d *detector[T]) enter(reg *Registration, obj T) {
	g := d.find(obj)
	if g == nil {
		return
	}
	if m := d.check(g, obj, nil, "before a call"); m != nil {
		d.report(m)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	g.callers = append(g.callers, reg)
}

// leave checks obj after a handler returned.
func (d *detector[T]) leave(reg *Registration, obj T) {
	if m := d.check(d.find(obj), obj, reg, "after a call"); m != nil {
		d.report(m)
	}
}

// settle reports what was found. To be called with nothing held.
func (d *detector[T]) settle(found []*Mutation) {
	for _, m := range found {
		d.report(m)
	}
}

// end checks everything for the last time in a run.
func (d *detector[T]) end() {
	d.settle(d.checkAll("at the end of Run"))
}

// checkAll checks everything that anybody can see.
func (d *detector[T]) checkAll(when string) (found []*Mutation) {
	d.mu.Lock()
	all := make([]*guard[T], 0, len(d.guards))
	for _, g := range d.guards {
		all = append(all, g)
	}
	d.mu.Unlock()
	for _, g := range all {
		if address := g.object.Value(); address != nil {
			t := reflect.TypeFor[T]()
			if t.Kind() != reflect.Pointer {
				t = reflect.TypeOf(g.copy)
			}
			obj := reflect.NewAt(t.Elem(), unsafe.Pointer(address)).Interface().(T)
			if m := d.check(g, obj, nil, when); m != nil {
				found = append(found, m)
			}
		}
	}
	return found
}

// check compares obj with its copy, and tells the first time that they differ; nil
// otherwise. by is the handler that has just returned, nil if none has. It is among the
// callers until then: else a check at the same time could find what it did, and name
// nobody.
func (d *detector[T]) check(g *guard[T], obj T, by *Registration, when string) *Mutation {
	if g == nil {
		return nil
	}
	fields := changedFields(g.copy, obj)
	if len(fields) == 0 && by == nil {
		return nil
	}
	d.mu.Lock()
	if k := slices.Index(g.callers, by); k >= 0 {
		g.callers = slices.Delete(g.callers, k, k+1)
	}
	first := len(fields) > 0 && !g.reported
	g.reported = g.reported || first
	suspects := slices.Clone(g.callers)
	d.mu.Unlock()
	if !first {
		return nil
	}
	if by != nil {
		suspects = append([]*Registration{by}, suspects...)
	}
	m := &Mutation{Informer: d.informer, Key: g.key, ResourceVersion: g.copy.GetResourceVersion(), Fields: fields, Found: when}
	for _, reg := range suspects {
		m.Handlers = append(m.Handlers, reg.name+" ("+reg.site.String()+")")
	}
	return m
}
