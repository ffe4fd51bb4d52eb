package informer

import (
	"fmt"
	"maps"
	"sync"

	"github.com/listwatch/listwatch/deltafifo"
)

// recorder is a Handler that writes down its calls and checks that they form a
// legal history. hold, if set, is called in the middle of each.
type recorder struct {
	hold  func()
	check func() string // further complaints

	mu       sync.Mutex
	trace    []string
	known    tableView
	problems []string
}

func (r *recorder) record(n notice[*thing], text string) {
	if r.hold != nil {
		r.hold()
	}
	problem := ""
	if r.check != nil {
		problem = r.check()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, text)
	if r.known == nil {
		r.known = tableView{}
	}
	for _, p := range []string{problem, r.known.observe(n)} {
		if p != "" {
			r.problems = append(r.problems, fmt.Sprintf("call %d: %s", len(r.trace), p))
		}
	}
}

func (r *recorder) OnAdd(obj *thing, initial bool) {
	r.record(notice[*thing]{kind: noticeAdd, obj: obj}, showAdd(obj, initial))
}

func (r *recorder) OnUpdate(old, obj *thing) {
	r.record(notice[*thing]{kind: noticeUpdate, old: old, obj: obj}, showUpdate(old, obj))
}

func (r *recorder) OnDelete(d Deleted[*thing]) {
	r.record(notice[*thing]{kind: noticeDelete, key: d.Key, obj: d.Last, exact: d.Exact}, showDelete(d))
}

// take returns the calls since the last take.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	trace := r.trace
	r.trace = nil
	return trace
}

func (r *recorder) complaints() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problems
}

// state is what the calls add up to.
func (r *recorder) state() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return idents(maps.Values(r.known))
}

// queue is the first of the run in progress.
func (r *rig) queue() *deltafifo.Queue[*thing] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run.queues[0]
}
