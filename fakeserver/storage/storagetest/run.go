package storagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// patience bounds the wait for an event that must come.
const patience = 10 * time.Second

// Group names the tests of one verb.
type Group string

// The groups.
const (
	Create   Group = "create"
	Get      Group = "get"
	List     Group = "list"
	Update   Group = "update"
	Delete   Group = "delete"
	Watch    Group = "watch"
	Compact  Group = "compact"
	Progress Group = "progress"
	// Whole reads and watches all resources at once, under the prefix "/".
	Whole Group = "whole"
)

var groups = []struct {
	name  Group
	tests []testCase
}{
	{Create, createTests}, {Get, getTests}, {List, listTests}, {Update, updateTests}, {Delete, deleteTests},
	{Watch, watchTests}, {Compact, compactTests}, {Progress, progressTests}, {Whole, wholeTests},
}

// RunTests runs the suite; newStore returns an empty store for each test, and
// arranges for its end with t.Cleanup. Something that is not a whole Store may
// leave out groups.
func RunTests(t *testing.T, newStore func(t *testing.T) storage.Store, without ...Group) {
	for _, group := range groups {
		if slices.Contains(without, group.name) {
			continue
		}
		t.Run(string(group.name), func(t *testing.T) {
			for _, test := range group.tests {
				t.Run(strings.ReplaceAll(test.name, " ", "_"), func(t *testing.T) {
					test.run(&bench{t: t, Store: newStore(t)})
				})
			}
		})
	}
}

// testCase is one promise.
type testCase struct {
	name string
	run  func(b *bench)
}

// bench is a store under test.
type bench struct {
	storage.Store
	t *testing.T
}

// check ends the test at an error.
func (b *bench) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// fails checks that err is the wanted one.
func (b *bench) fails(err, want error) {
	b.t.Helper()
	if !errors.Is(err, want) {
		b.t.Errorf("error is %v, want %v", err, want)
	}
}

// context bounds the call of something that must not hang.
func (b *bench) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	b.t.Cleanup(cancel)
	return ctx
}

// ended is a context that has ended already.
func (b *bench) ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// at checks the current revision.
func (b *bench) at(want int64) {
	b.t.Helper()
	got, err := b.CurrentRevision(b.context())
	b.check(err)
	if got != want {
		b.t.Errorf("revision is %d, want %d", got, want)
	}
}

// race calls something several times at once and counts the successes.
func (b *bench) race(call func() (storage.KeyValue, error)) int {
	const callers = 8
	var running sync.WaitGroup
	won := make(chan struct{}, callers)
	for range callers {
		running.Go(func() {
			if _, err := call(); err == nil {
				won <- struct{}{}
			}
		})
	}
	running.Wait()
	return len(won)
}

// create writes a new key.
func (b *bench) create(key, value string) storage.KeyValue {
	b.t.Helper()
	kv, err := b.Create(b.context(), key, []byte(value))
	b.check(err)
	return kv
}

// update writes the next version of a key.
func (b *bench) update(old storage.KeyValue, value string) storage.KeyValue {
	b.t.Helper()
	kv, err := b.Update(b.context(), old.Key, []byte(value), old.ModRevision)
	b.check(err)
	return kv
}

// remove deletes a key.
func (b *bench) remove(old storage.KeyValue) storage.KeyValue {
	b.t.Helper()
	kv, err := b.Delete(b.context(), old.Key, old.ModRevision)
	b.check(err)
	return kv
}

// compact compacts at a revision.
func (b *bench) compact(revision int64) {
	b.t.Helper()
	b.check(b.Compact(b.context(), revision))
}

// watch opens a watch that ends with the test.
func (b *bench) watch(prefix string, revision int64) storage.Watch {
	b.t.Helper()
	w, err := b.Watch(context.Background(), prefix, storage.WatchOptions{Revision: revision})
	b.check(err)
	b.t.Cleanup(w.Close)
	return w
}

// expect reads events until as many came as wanted, and compares.
func (b *bench) expect(w storage.Watch, want ...string) {
	b.t.Helper()
	var got []string
	for len(got) < len(want) {
		events, err := w.Next(b.context())
		b.check(err)
		if len(events) == 0 {
			b.t.Fatal("Next returned no events and no error")
		}
		for _, event := range events {
			got = append(got, Describe(event))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.t.Errorf("events\n got %q\nwant %q", got, want)
	}
}

// listed lists and describes the result.
func (b *bench) listed(prefix string, opts storage.ListOptions) string {
	b.t.Helper()
	result, err := b.List(b.context(), prefix, opts)
	b.check(err)
	text := make([]string, 0, len(result.KVs)+1)
	for _, kv := range result.KVs {
		text = append(text, describe(kv))
	}
	more := ""
	if result.More {
		more = "+"
	}
	return fmt.Sprintf("%s |%s %d @%d", strings.Join(text, " "), more, result.Count, result.Revision)
}

// Describe writes an event for comparison and for reading: "Put /a=v@3(2)" is
// key /a with value v at revision 3, created at 2.
func Describe(event storage.Event) string {
	if event.Type == storage.Progress {
		return fmt.Sprintf("Progress@%d", event.KV.ModRevision)
	}
	text := event.Type.String() + " " + describe(event.KV)
	if event.Prev != nil {
		text += " was " + describe(*event.Prev)
	}
	return text
}

// describe writes a version.
func describe(kv storage.KeyValue) string {
	return fmt.Sprintf("%s=%s@%d(%d)", kv.Key, kv.Value, kv.ModRevision, kv.CreateRevision)
}

// same compares texts.
func (b *bench) same(got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("\n got %s\nwant %s", got, want)
	}
}
