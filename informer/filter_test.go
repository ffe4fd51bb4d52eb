package informer

import (
	"errors"
	"testing"
	"testing/synctest"
)

// labelled sets the label "on" to value.
func labelled(value string) func(*thing) {
	return func(obj *thing) { obj.Labels = map[string]string{"on": value} }
}

func isOn(obj *thing) bool { return obj.Labels["on"] == "yes" }

func TestAFilterMakesAddsAndDeletesOfWhatEntersAndLeavesIt(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.edit("a", labelled("yes"))
		r.from.edit("b", labelled("no"))
		h := &recorder{}
		reg := r.add(h, WithFilter(isOn))
		r.start()
		r.expect(h, "initial a:u1@2")
		if !closed(reg.Synced()) {
			t.Error("not synced though all initial adds have returned")
		}
		r.from.edit("b", labelled("no"))
		r.expect(h)
		r.from.edit("b", labelled("yes"))
		r.expect(h, "add b:u2@5")
		r.from.set("b")
		r.expect(h, "update b:u2@5 -> b:u2@6")
		r.from.edit("b", labelled("no"))
		r.expect(h, "delete b:u2@6 exact")
		r.from.remove("b")
		r.from.remove("a")
		r.expect(h, "delete a:u1@9 exact")
		if reg.Depth() != 0 {
			t.Errorf("depth %d, want changes that were filtered out not to wait", reg.Depth())
		}
	})
}

// A DELETED event may show a state that the handler was never told.
func TestAFilterGoesByTheStateBeforeTheDelete(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.edit("was", labelled("yes"))
		r.from.edit("was-not", labelled("no"))
		h := &recorder{}
		r.add(h, WithFilter(isOn))
		r.start()
		r.expect(h, "initial was:u1@2")
		r.from.objects["was"] = r.from.objects["was"].DeepCopy()
		labelled("no")(r.from.objects["was"])
		r.from.objects["was-not"] = r.from.objects["was-not"].DeepCopy()
		labelled("yes")(r.from.objects["was-not"])
		r.from.remove("was-not")
		r.from.remove("was")
		r.expect(h, "delete was:u1@5 exact")
	})
}

func TestAFilterSeesAnotherUIDAsDeleteAndAdd(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.edit("a", labelled("yes"))
		h := &recorder{}
		r.add(h, WithFilter(isOn))
		r.start()
		r.expect(h, "initial a:u1@2")
		r.outage(func() {
			r.from.remove("a")
			r.from.edit("a", labelled("no"))
			r.from.compact()
		})
		r.expect(h, "delete a:u1@2")
	})
}

func TestPredicatesSpareUpdatesThatChangeNothingOfInterest(t *testing.T) {
	raise := func(obj *thing) { obj.Generation++ }
	annotate := func(obj *thing) { obj.Annotations = map[string]string{"v": obj.ResourceVersion} }
	relabel := func(obj *thing) { obj.Labels = map[string]string{"v": obj.ResourceVersion} }
	onlyMine := PredicateOf(func(_, obj *thing) bool { return obj.Annotations["v"] == "4" })
	foreign := PredicateOf(func(_, _ Deleting) bool { return false })
	for _, c := range []struct {
		name       string
		predicates []Predicate
		want       string // the numbers of the updates told
	}{
		{"none", nil, "34567"},
		{"generation", []Predicate{GenerationChanged}, "4"},
		{"annotations", []Predicate{AnnotationsChanged}, "5"},
		{"labels", []Predicate{LabelsChanged}, "6"},
		{"generation or labels", []Predicate{GenerationChanged, LabelsChanged}, "46"},
		{"resourceVersion", []Predicate{ResourceVersionChanged}, "34567"},
		{"of the type", []Predicate{onlyMine}, "567"},
		{"of another type", []Predicate{foreign}, "34567"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
				r.from.edit("a", raise)
				got := ""
				r.add(HandlerFuncs[*thing]{UpdateFunc: func(_, obj *thing) { got += obj.ResourceVersion }}, WithPredicates(c.predicates...))
				r.start()
				for _, change := range []func(*thing){func(*thing) {}, raise, annotate, relabel, func(*thing) {}} {
					r.from.edit("a", change)
				}
				r.expectCache()
				if got != c.want {
					t.Errorf("told updates %s, want %s", got, c.want)
				}
			})
		})
	}
}

// Deleting is a type of objects that no informer of these tests has.
type Deleting struct{ *thing }

func TestAKindWithoutGenerationsAlwaysChanges(t *testing.T) {
	a, b := newThing("a", "u", 1), newThing("a", "u", 2)
	if !GenerationChanged(a, b) {
		t.Error("an update is lost of a kind that keeps no generation")
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	inf, err := New(newCollection(), Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	for name, option := range map[string]HandlerOption{
		"a filter of another type": WithFilter(func(Deleting) bool { return true }),
		"a nil filter":             WithFilter[*thing](nil),
		"a nil predicate":          WithPredicates(GenerationChanged, nil),
		"an unknown panic policy":  WithPanicPolicy(7),
	} {
		if _, err := inf.AddHandler(&recorder{}, option); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("%s: got %v, want ErrInvalidOptions", name, err)
		}
	}
	if n := len(inf.Status().Handlers); n != 0 {
		t.Errorf("%d handlers were registered", n)
	}
}

func TestALeaveThatOnlyARelistFoundIsNotExact(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.edit("a", labelled("yes"))
		every, latest := &recorder{}, &recorder{}
		r.add(every, WithFilter(isOn))
		r.add(latest, WithFilter(isOn), WithLatestOnly())
		r.start()
		r.expect(every, "initial a:u1@2")
		r.expect(latest, "initial a:u1@2")
		r.outage(func() {
			r.from.edit("a", labelled("yes")) // was in the filter then, too
			r.from.edit("a", labelled("no"))
			r.from.compact()
		})
		r.expect(every, "delete a:u1@2")
		r.expect(latest, "delete a:u1@2")
	})
}

func TestALeaveThatWasMergedWithOlderChangesIsNotExact(t *testing.T) {
	drop := func(obj *thing) (*thing, error) {
		if !isOn(obj) {
			return nil, ErrDrop
		}
		return obj, nil
	}
	for name, by := range map[string]struct {
		transform func(*thing) (*thing, error)
		option    HandlerOption
	}{
		"a filter":    {option: WithFilter(isOn)},
		"a transform": {transform: drop},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options[*thing]{MaxPending: 2, Transform: by.transform}, func(t *testing.T, r *rig) {
				r.from.edit("a", labelled("yes"))
				h := &recorder{}
				r.add(h, by.option)
				r.start()
				r.expect(h, "initial a:u1@2")
				r.writing <- struct{}{} // the cache is busy
				r.from.edit("b", labelled("no"))
				synctest.Wait()
				r.from.edit("a", labelled("yes"))
				r.from.edit("a", labelled("no"))
				synctest.Wait()
				<-r.writing
				r.expect(h, "delete a:u1@2")

				r.from.edit("a", labelled("yes"))
				r.expect(h, "add a:u1@6")
				r.from.edit("a", labelled("no"))
				r.expect(h, "delete a:u1@6 exact")
			})
		})
	}
}

func TestALeaveOfAJoinedInformerIsExactIfNothingIsMissing(t *testing.T) {
	joined(t, []string{"a", "b"}, Options[*thing]{}, func(t *testing.T, r *joinedRig) {
		r.from.edit("a/1", labelled("yes"))
		h := &recorder{}
		r.add(h, WithFilter(isOn))
		r.start()
		r.expect(h, "initial a/1:u1@2")
		r.from.edit("a/1", labelled("no"))
		r.expect(h, "delete a/1:u1@2 exact")
	})
}
