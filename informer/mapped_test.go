package informer

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/reflector"
)

// unwanted drops the objects whose names are in a set.
type unwanted map[string]bool

func (u unwanted) transform(obj *thing) (*thing, error) {
	if u[obj.Name] {
		return nil, fmt.Errorf("of no interest: %w", ErrDrop)
	}
	return obj, nil
}

func TestTheSinkLeavesDroppedObjectsOutOfAReplacement(t *testing.T) {
	drop := map[int64]bool{}
	s := newSink(func(obj *thing) (*thing, error) {
		var version int64
		fmt.Sscan(obj.ResourceVersion, &version)
		if drop[version] {
			return nil, ErrDrop
		}
		return obj, nil
	})
	for _, test := range []struct {
		name  string
		items []string // the n-th has version n
		drop  []int64
		want  string
	}{
		{"one of several", []string{"a", "b", "c"}, []int64{2}, "a=a:u@1 c=c:u@3 "},
		{"all", []string{"a", "b"}, []int64{1, 2}, ""},
		{"an earlier version goes with it", []string{"a", "b", "a"}, []int64{3}, "b=b:u@2 "},
		{"a later version comes back", []string{"a", "b", "a"}, []int64{1}, "b=b:u@2 a=a:u@3 "},
		{"the last of many versions counts", []string{"a", "a", "a", "b", "a"}, []int64{2, 3}, "b=b:u@4 a=a:u@5 "},
	} {
		clear(drop)
		for _, version := range test.drop {
			drop[version] = true
		}
		s.BeginReplace("initial")
		for k, key := range test.items {
			s.ReplaceItem(newThing(key, "u", int64(k+1)))
		}
		s.EndReplace("9")
		if diff := cmp.Diff([]string{"Replaced " + test.want + "at 9"}, pending(t, s.queue)); diff != "" {
			t.Errorf("%s: queued (-want +got):\n%s", test.name, diff)
		}
	}
	if total, standing, _ := s.failures.list(maxListed); total+standing > 0 {
		t.Errorf("%d failures, %d standing: dropping is none", total, standing)
	}
}

func TestACachedObjectThatTheTransformDropsLeavesExactlyAndMayComeBack(t *testing.T) {
	u := unwanted{"never": true}
	bubble(t, Options[*thing]{Transform: u.transform}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.from.set("never")
		h := &recorder{}
		r.add(h)
		r.start()
		r.expect(h, "initial a:u1@2")

		u["a"] = true
		r.from.set("a")
		r.from.set("never")
		r.expect(h, "delete a:u1@2 exact")
		if version := r.Snapshot().ResourceVersion(); version != "5" {
			t.Errorf("snapshot at %s, want 5: dropped events count", version)
		}
		u["a"] = false
		r.from.set("a")
		r.expect(h, "add a:u1@6")

		u["a"] = true
		r.outage(func() { r.from.set("b"); r.from.set("a"); r.from.compact() })
		r.expect(h, "delete a:u1@6", "add b:u3@7") // found by a list, so not exact
		u["a"] = false
		r.outage(func() { r.from.set("b"); r.from.compact() })
		r.expect(h, "add a:u1@8", "update b:u3@7 -> b:u3@9")

		u["a"] = true
		r.from.remove("a") // the last state is dropped
		r.from.remove("never")
		r.expect(h, "delete a:u1@8 exact")
		if s := r.Status().Transform; s.Failures != 0 {
			t.Errorf("%+v, want no failures", s)
		}
	})
}

func TestDroppingEndsAStandingFailure(t *testing.T) {
	var verdict error
	transform := func(obj *thing) (*thing, error) { return obj, verdict }
	bubble(t, Options[*thing]{Transform: transform}, func(t *testing.T, r *rig) {
		r.start()
		verdict = errors.New("cannot digest")
		r.from.set("a")
		synctest.Wait()
		if s := r.Status().Transform; s.Standing != 1 {
			t.Errorf("%+v, want one that stands", s)
		}
		verdict = ErrDrop
		r.from.set("a")
		synctest.Wait()
		if s := r.Status().Transform; s.Standing != 0 || s.Failures != 1 {
			t.Errorf("%+v, want a failure that does not stand", s)
		}
	})
}

// toConfigMap makes an object of another type, except of "bad" ones.
func toConfigMap(obj *thing) (*corev1.ConfigMap, error) {
	if strings.HasPrefix(obj.Name, "bad") {
		return nil, errors.New("cannot digest")
	}
	out := &corev1.ConfigMap{Data: map[string]string{"from": obj.ResourceVersion}}
	out.Namespace, out.Name, out.UID, out.ResourceVersion = obj.Namespace, obj.Name, obj.UID, obj.ResourceVersion
	return out, nil
}

func TestAMappedInformerCachesWhatTheTransformReturnsOncePerObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, calls, second := newCollection(), 0, 0
		transform := func(obj *thing) (*corev1.ConfigMap, error) { calls++; return toConfigMap(obj) }
		inf, err := NewMapped(from, transform, Options[*corev1.ConfigMap]{
			Transform: func(obj *corev1.ConfigMap) (*corev1.ConfigMap, error) { second++; return obj, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		_, err = inf.AddHandler(HandlerFuncs[*corev1.ConfigMap]{
			AddFunc: func(obj *corev1.ConfigMap, _ bool) { told = append(told, "add "+obj.Name+obj.Data["from"]) },
			UpdateFunc: func(old, obj *corev1.ConfigMap) {
				told = append(told, "update "+old.Name+old.Data["from"]+" "+obj.Name+obj.Data["from"])
			},
			DeleteFunc: func(d Deleted[*corev1.ConfigMap]) {
				told = append(told, fmt.Sprint("delete ", d.Last.Name, d.Last.Data["from"], " ", d.Exact))
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		from.set("a")
		from.set("bad")
		stop := runInBubble(t, inf)
		from.set("a")
		from.remove("a")
		synctest.Wait()
		stop()
		if diff := cmp.Diff([]string{"add a2", "update a2 a4", "delete a5 true"}, told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if calls != 4 || second != 3 {
			t.Errorf("%d and %d calls for four objects, one of which fails", calls, second)
		}
		if s := inf.Status().Transform; s.Standing != 1 || s.Objects[0].Key != "bad" || !errors.Is(s.Objects[0].Err, ErrTransform) {
			t.Errorf("%+v, want a standing failure of bad", s)
		}
	})
}

func TestAJoinedMappedInformerCachesWhatTheTransformReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := newCollection()
		parts := Namespaces([]string{"a", "b"}, func(name string) reflector.Source[*thing] {
			return &namespace{collection: from, name: name}
		})
		inf, err := NewJoinedMapped(parts, toConfigMap, Options[*corev1.ConfigMap]{})
		if err != nil {
			t.Fatal(err)
		}
		from.set("a/1")
		from.set("b/1")
		from.set("c/1")
		stop := runInBubble(t, inf)
		from.set("b/1")
		synctest.Wait()
		var cached []string
		for key, obj := range inf.Snapshot().All() {
			cached = append(cached, key+" from "+obj.Data["from"])
		}
		if diff := cmp.Diff([]string{"a/1 from 2", "b/1 from 5"}, cached); diff != "" {
			t.Errorf("cached (-want +got):\n%s", diff)
		}
		stop()
	})
}

func TestATransformMustKeepWhatTellsObjectsApart(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*thing)
		want   string // of the error; "" if allowed
	}{
		"another name":              {func(obj *thing) { obj.Name = "b" }, `called "ns/b"`},
		"another namespace":         {func(obj *thing) { obj.Namespace = "x" }, `called "x/a"`},
		"another UID":               {func(obj *thing) { obj.UID = "x" }, `UID "x"`},
		"another resourceVersion":   {func(obj *thing) { obj.ResourceVersion = "7" }, `resourceVersion "7"`},
		"no UID and no version":     {func(obj *thing) { obj.UID, obj.ResourceVersion = "", "" }, ""},
		"other things may be other": {func(obj *thing) { obj.Labels = map[string]string{"a": "b"} }, ""},
	} {
		s := newSink(func(obj *thing) (*thing, error) { test.change(obj); return obj, nil })
		s.Add(newThing("ns/a", "u", 1))
		_, _, objects := s.failures.list(maxListed)
		got := ""
		for _, failure := range objects {
			got = failure.Err.Error()
		}
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestNewMappedRefusesWhatMakesNoSense(t *testing.T) {
	if _, err := NewMapped[*thing, *thing](newCollection(), nil, Options[*thing]{}); !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("no transform: got %v", err)
	}
	if _, err := NewJoinedMapped[*thing, *thing](nil, nil, Options[*thing]{}); !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("no transform of parts: got %v", err)
	}
	if _, err := NewMapped(nil, toConfigMap, Options[*corev1.ConfigMap]{}); !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("no source: got %v", err)
	}
}
