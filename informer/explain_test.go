package informer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/reflector"
)

// check compares the verdict, and looks for parts of the sentences in order.
func check(t *testing.T, e Explanation, want Verdict, parts ...string) {
	t.Helper()
	text := e.String()
	if e.Verdict != want {
		t.Errorf("verdict %q, want %q: %s", e.Verdict, want, text)
	}
	rest := text
	for _, part := range parts {
		at := strings.Index(rest, part)
		if at < 0 {
			t.Errorf("%q is missing, or in the wrong place, in: %s", part, text)
			continue
		}
		rest = rest[at:]
	}
	if _, err := json.Marshal(e); err != nil {
		t.Errorf("as JSON: %v", err)
	}
}

func TestExplainTellsWhereACachedObjectIs(t *testing.T) {
	options := Options[*thing]{Name: "things", Indexes: map[string]indexer.Func[*thing]{
		"first": func(obj *thing) []string { return []string{obj.Name[:1], "any"} },
		"panic": func(obj *thing) []string { panic("index of " + obj.Name) },
		"empty": func(*thing) []string { return nil },
	}}
	bubble(t, options, func(t *testing.T, r *rig) {
		r.from.set("web/a")
		r.from.set("web/b")
		r.start()
		e := r.Explain("web/a")
		check(t, e, VerdictCached, `web/a in informer "things": cached`, `at resourceVersion "2" with UID "u1"; the cache is at "3"`,
			`index "empty" has it under no value`, `index "first" has it under ["a" "any"]`, `missing from index "panic"`, "index of a")
		if !e.Cached || e.UID != "u1" || e.ResourceVersion != "2" || e.CollectionVersion != "3" || !e.Synced || e.Phase != reflector.Watching {
			t.Errorf("got %+v", e)
		}
	})
}

func TestExplainTellsWhyNothingIsKnown(t *testing.T) {
	bubble(t, Options[*thing]{Collection: reflector.Collection{Resource: "things"}}, func(t *testing.T, r *rig) {
		check(t, r.Explain("a"), VerdictNotSynced, "has not been listed", "has not run yet")
		r.from.refuse(forbidden)
		r.start()
		check(t, r.Explain("a"), VerdictNotSynced, "has not been listed", "the watch is not up", "HTTP 403", `verb "list" on resource "things"`)
		r.from.refuse(nil)
		time.Sleep(time.Minute)
		r.from.set("b")
		synctest.Wait()
		check(t, r.Explain("a"), VerdictAbsent, `does not have it at resourceVersion "2"`)
		r.stop()
		check(t, r.Explain("a"), VerdictNotSynced, "does not run (since 2000-01-01T00:01:00Z)")
		check(t, r.Explain("b"), VerdictCached, "does not run")
	})
}

func TestExplainTellsThatKeysAreOfAnotherShape(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.start()
		check(t, r.Explain("web/a"), VerdictAbsent)
		check(t, r.Explain("a"), VerdictAbsent)
		for _, key := range []string{"", "a/b/c", "/a", "a/"} {
			check(t, r.Explain(key), VerdictInvalidKey, "key")
		}
		r.from.set("web/b")
		synctest.Wait()
		check(t, r.Explain("a"), VerdictInvalidKey, "have a namespace")
		r.from.remove("web/b")
		r.from.set("b")
		synctest.Wait()
		check(t, r.Explain("web/a"), VerdictInvalidKey, "have no namespace")
		check(t, r.Explain("web/b"), VerdictInvalidKey, "have no namespace", "it left the cache")
	})
}

func TestExplainTellsWhatTheSourceLeavesOut(t *testing.T) {
	scope := reflector.Collection{Resource: "things", Namespace: "web", LabelSelector: "app=x"}
	bubble(t, Options[*thing]{Collection: scope}, func(t *testing.T, r *rig) {
		r.start()
		check(t, r.Explain("db/a"), VerdictOtherNamespace, "reads only things in namespace web with labels app=x")
		check(t, r.Explain("web/a"), VerdictAbsent, "selector may leave it out", "app=x")
	})
}

func TestExplainRemembersDeletions(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.from.set("b")
		r.start()
		r.from.remove("a")
		synctest.Wait()
		check(t, r.Explain("a"), VerdictDeleted, `left the cache at 2000-01-01T00:00:00Z, at resourceVersion "4" with UID "u1": the server said so`)
		r.outage(func() {
			r.from.remove("b")
			r.from.compact()
		})
		e := r.Explain("b")
		check(t, e, VerdictDeleted, `at resourceVersion "3" with UID "u2": the deletion itself was not seen`)
		if len(e.Deletions) != 1 || e.Deletions[0].Exact {
			t.Errorf("deletions %+v", e.Deletions)
		}
		r.from.set("a")
		synctest.Wait()
		check(t, r.Explain("a"), VerdictCached, "before that, it left the cache")
	})
}

func TestExplainTellsWhatTheTransformDid(t *testing.T) {
	transform := func(obj *thing) (*thing, error) {
		switch {
		case strings.HasPrefix(obj.Name, "bad"):
			return nil, errors.New("too bad")
		case strings.HasPrefix(obj.Name, "drop"), obj.Name == "fickle" && obj.ResourceVersion == "5":
			return nil, ErrDrop
		}
		return obj, nil
	}
	bubble(t, Options[*thing]{Transform: transform}, func(t *testing.T, r *rig) {
		r.from.set("bad")    // 2
		r.from.set("drop")   // 3
		r.from.set("fickle") // 4
		r.start()
		check(t, r.Explain("bad"), VerdictTransformFailed, `version "2" was received at 2000`, "too bad", "tries again")
		check(t, r.Explain("drop"), VerdictTransformDropped, `version "3" was received`, "dropped it")
		check(t, r.Explain("fickle"), VerdictCached)
		r.from.set("fickle") // 5
		synctest.Wait()
		check(t, r.Explain("fickle"), VerdictTransformDropped, `version "5"`, "left the cache")
		check(t, r.Explain("other"), VerdictAbsent, "the transform has dropped 2 versions")
		time.Sleep(time.Second)
		r.from.set("fickle") // 6
		synctest.Wait()
		r.from.remove("fickle")
		synctest.Wait()
		check(t, r.Explain("fickle"), VerdictDeleted)
		if s := r.Status(); s.Transform.Dropped != 2 {
			t.Errorf("%d dropped", s.Transform.Dropped)
		}
	})
}

func TestExplainKeepsADropAndADeletionApart(t *testing.T) {
	dropping := true
	transform := func(obj *thing) (*thing, error) {
		if dropping && obj.Name == "a" {
			return nil, ErrDrop
		}
		return obj, nil
	}
	bubble(t, Options[*thing]{Transform: transform}, func(t *testing.T, r *rig) {
		dropping = false
		r.from.set("a")
		r.start()
		dropping = true
		r.writing <- struct{}{} // the cache is busy, so that the object leaves it later
		r.from.set("a")
		time.Sleep(time.Second)
		<-r.writing
		synctest.Wait()
		check(t, r.Explain("a"), VerdictTransformDropped, "the transform dropped it", "left the cache at 2000-01-01T00:00:01Z")

		r.from.remove("a")
		synctest.Wait()
		check(t, r.Explain("a"), VerdictDeleted, "left the cache")
		r.from.set("a")
		synctest.Wait()
		check(t, r.Explain("a"), VerdictTransformDropped)
		r.outage(func() {
			r.from.remove("a")
			r.from.compact()
		})
		check(t, r.Explain("a"), VerdictDeleted)

		r.from.set("a")
		synctest.Wait()
		dropping = false
		r.from.set("a")
		synctest.Wait()
		dropping = true
		r.from.remove("a") // the last state is dropped
		synctest.Wait()
		check(t, r.Explain("a"), VerdictDeleted)
	})
}

func TestExplainTellsOfADropOnceHoweverOftenItIsListed(t *testing.T) {
	transform := func(*thing) (*thing, error) { return nil, ErrDrop }
	bubble(t, Options[*thing]{Transform: transform}, func(t *testing.T, r *rig) {
		r.from.set("drop") // 2
		r.start()
		for range 3 {
			time.Sleep(time.Minute)
			r.Relist()
			synctest.Wait()
		}
		e := r.Explain("drop")
		check(t, e, VerdictTransformDropped, `version "2" was received at 2000-01-01T00:03:00Z`)
		if len(e.Drops) != 1 {
			t.Errorf("drops %v, want one", e.Drops)
		}
		const others = "the last 256 are remembered"
		e = r.Explain("other")
		check(t, e, VerdictAbsent, "has dropped 1 versions of objects")
		if strings.Contains(e.String(), others) {
			t.Errorf("all are remembered, but: %s", e)
		}
		for k := range maxRecent {
			r.from.set(fmt.Sprint("more-", k))
		}
		synctest.Wait()
		check(t, r.Explain("other"), VerdictAbsent, "has dropped 257 versions of objects", others)
		if e := r.Explain("drop"); len(e.Drops) != 0 {
			t.Errorf("drops %v, want it forgotten", e.Drops)
		}
		r.from.set("more-7") // once more, in another version
		synctest.Wait()
		if e := r.Explain("more-7"); len(e.Drops) != 2 || e.Drops[0].ResourceVersion != "259" {
			t.Errorf("drops %v, want the newer first", e.Drops)
		}
	})
}

func TestExplainSeesWhatWaitsForTheCache(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.from.set("b")
		r.start()
		r.writing <- struct{}{} // the cache is busy
		r.from.set("busy")
		synctest.Wait()
		r.from.set("a")
		r.from.set("new")
		r.from.remove("b")
		r.from.set("gone")
		r.from.remove("gone")
		time.Sleep(time.Second)
		check(t, r.Explain("new"), VerdictPending, `it was received (Added, resourceVersion "6")`, "the oldest since 1s")
		check(t, r.Explain("a"), VerdictCached, "a new version was received (Updated")
		check(t, r.Explain("b"), VerdictCached, "its end was received (Deleted")
		check(t, r.Explain("gone"), VerdictAbsent, "its end was received")
		<-r.writing
		synctest.Wait()
		check(t, r.Explain("new"), VerdictCached)
		if e := r.Explain("new"); len(e.Pending) > 0 {
			t.Errorf("still pending: %+v", e.Pending)
		}
	})
}

func TestExplainNamesHandlersThatMayNotHaveBeenTold(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		hold := make(chan struct{})
		_, err := r.AddHandler(&recorder{hold: func() { <-hold }}, WithName("blocked"))
		if err != nil {
			t.Fatal(err)
		}
		r.add(&recorder{})
		r.from.set("a")
		r.start()
		r.from.set("a")
		synctest.Wait()
		e := r.Explain("a")
		check(t, e, VerdictCached, `handler "blocked" (`, "explain_test.go:", "is 2 calls behind")
		if strings.Contains(e.String(), "handler-1") {
			t.Errorf("a handler that was told is named: %s", e)
		}
		check(t, r.Explain("b"), VerdictAbsent)
		close(hold)
		synctest.Wait()
		if e := r.Explain("a"); strings.Contains(e.String(), "behind") {
			t.Errorf("after it was told: %s", e)
		}
	})
}

// Every key gets a verdict that agrees with the cache, whatever happened.
func TestExplainAgreesWithTheSnapshot(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.start()
		for k := range 30 {
			key := fmt.Sprint("o", k%7)
			if k%3 == 2 {
				r.from.remove(key)
			} else {
				r.from.set(key)
			}
			synctest.Wait()
			for n := range 8 {
				key := fmt.Sprint("o", n)
				_, found := r.Snapshot().Get(key)
				if e := r.Explain(key); e.Cached != found || (e.Verdict == VerdictCached) != found {
					t.Errorf("step %d, %s: %+v, in the cache: %v", k, key, e, found)
				}
			}
		}
	})
}

func TestExplainKnowsThePartsOfAJoinedInformer(t *testing.T) {
	joined(t, []string{"a", "b"}, Options[*thing]{Name: "both"}, func(t *testing.T, r *joinedRig) {
		r.from.set("a/1")
		r.parts["b"].refuse(forbidden)
		r.start()
		check(t, r.Explain("a/1"), VerdictCached, "not in sync", `the watch of part "b" is not up`, `in namespace "b"`)
		check(t, r.Explain("b/1"), VerdictNotSynced, `the watch of part "b" is not up`)
		check(t, r.Explain("c/1"), VerdictOtherNamespace, "reads only things in namespace a, things in namespace b")
		err := r.WaitForSync(FailFast(t.Context()))
		if !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), `; part "b" backing off`) || !strings.Contains(err.Error(), `in namespace "b"`) {
			t.Errorf("got %v", err)
		}
		_, body := get(t, StatusHandler(r), "/?informer=both", true)
		for _, part := range []string{"connection a", "connection b", "HTTP 403"} {
			if !strings.Contains(body, part) {
				t.Errorf("%q is missing in %s", part, body)
			}
		}
	})
}

// For the race detector.
func TestAnInformerMayBeInspectedWhileEverythingMoves(t *testing.T) {
	bubble(t, Options[*thing]{Transform: pick}, func(t *testing.T, r *rig) {
		r.add(&recorder{})
		r.start()
		var inspecting sync.WaitGroup
		for range 4 {
			inspecting.Go(func() {
				h := StatusHandler(r)
				for k := range 30 {
					get(t, h, fmt.Sprint("/?informer=informer&key=o", k%5), k%2 == 0)
				}
			})
		}
		for k := range 300 {
			switch {
			case k%50 == 49:
				r.from.compact()
				r.from.cut()
			case k%5 == 4:
				r.from.remove(fmt.Sprint("o", k%7))
			default:
				r.from.set(fmt.Sprint("o", k%7))
			}
		}
		inspecting.Wait()
		synctest.Wait()
	})
}
