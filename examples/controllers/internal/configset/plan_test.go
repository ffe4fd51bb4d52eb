package configset_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
)

// set wants n children, and has the finalizer.
func set(n int32, edits ...func(*configset.ConfigSet)) *configset.ConfigSet {
	s := &configset.ConfigSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1", Generation: 3, Finalizers: []string{configset.Finalizer}},
		Spec:       configset.ConfigSetSpec{Replicas: &n, Data: map[string]string{"color": "blue"}},
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func dying(s *configset.ConfigSet) { s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func unfinalized(s *configset.ConfigSet) { s.Finalizers = nil }

// child is the one that set wants, edited.
func child(ordinal int, edits ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
	c := configset.Child(set(0), ordinal).DeepCopy()
	c.ResourceVersion = fmt.Sprint(100 + ordinal)
	for _, edit := range edits {
		edit(c)
	}
	return c
}

func recolored(c *corev1.ConfigMap)      { c.Data["color"] = "red" }
func immutable(c *corev1.ConfigMap)      { c.Immutable = new(true) }
func ofAnother(c *corev1.ConfigMap)      { c.OwnerReferences[0].UID = "u0" }
func leaving(c *corev1.ConfigMap)        { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
func uncontrolled(c *corev1.ConfigMap)   { c.OwnerReferences[0].Controller = nil }
func unblocked(c *corev1.ConfigMap)      { c.OwnerReferences[0].BlockOwnerDeletion = new(false) }
func unlabelled(c *corev1.ConfigMap)     { c.Labels = nil }
func withBinaryData(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{"x": {1}} }

func named(name string) func(*corev1.ConfigMap) { return func(c *corev1.ConfigMap) { c.Name = name } }

func many(children ...*corev1.ConfigMap) []*corev1.ConfigMap { return children }

// said is a plan in words.
func said(p configset.Plan) string {
	var words []string
	say := func(verb string, all []*corev1.ConfigMap) {
		for _, c := range all {
			words = append(words, verb+c.Name)
		}
	}
	if p.AddFinalizer {
		words = append(words, "finalizer")
	}
	say("+", p.Create)
	say("~", p.Update)
	say("-", p.Delete)
	say("?", p.Orphans)
	if p.RemoveFinalizer {
		words = append(words, "done")
	}
	return strings.Join(words, " ")
}

func TestAPlanNamesWhatIsToBeWrittenAndNothingElse(t *testing.T) {
	for name, test := range map[string]struct {
		set      *configset.ConfigSet
		children []*corev1.ConfigMap
		want     string
	}{
		"a new set":                           {set(2, unfinalized), nil, "finalizer +web-0 +web-1"},
		"no number is one":                    {set(0, func(s *configset.ConfigSet) { s.Spec.Replicas = nil }), nil, "+web-0"},
		"all there":                           {set(2), many(child(1), child(0)), ""},
		"none wanted":                         {set(0), nil, ""},
		"a gap":                               {set(3), many(child(0), child(2)), "+web-1"},
		"scaled down: the highest go":         {set(1), many(child(0), child(1), child(10), child(2)), "-web-10 -web-2 -web-1"},
		"edited data":                         {set(2), many(child(1, recolored), child(0, recolored)), "~web-0 ~web-1"},
		"binary data":                         {set(1), many(child(0, withBinaryData)), "~web-0"},
		"labels taken off":                    {set(1), many(child(0, unlabelled)), "~web-0"},
		"owner reference that does not block": {set(1), many(child(0, unblocked)), "~web-0"},
		"immutable and right":                 {set(1), many(child(0, immutable)), ""},
		"immutable and wrong":                 {set(1), many(child(0, immutable, recolored)), "-web-0"},
		"edited, but to go":                   {set(0), many(child(0, recolored)), "-web-0"},
		"names that no child has":             {set(1), many(child(0), child(5, named("web-00")), child(5, named("x-0")), child(5, named("web--1"))), "-web--1 -web-00 -x-0"},
		"on its way out":                      {set(1), many(child(0, leaving, recolored), child(1, leaving)), ""},
		"deleted":                             {set(2, dying), many(child(0), child(1, leaving)), "-web-0"},
		"deleted, and children wait":          {set(2, dying), many(child(1, leaving)), ""},
		"deleted, and children are gone":      {set(2, dying), nil, "done"},
		"deleted, and others' finalizers":     {set(2, dying, unfinalized), many(child(0)), "-web-0"},
		"deleted, and nothing to do":          {set(2, dying, unfinalized), nil, ""},
		"no set":                              {nil, many(child(0), child(1, leaving)), "?web-0"},
		"of a set before it":                  {set(1), many(child(0, ofAnother), child(1, ofAnother, leaving)), "+web-0 ?web-0"},
		"deleted, and of a set before it":     {set(1, dying), many(child(0, ofAnother)), "?web-0 done"},
		"not controlled":                      {set(1), many(child(0, uncontrolled), child(1, uncontrolled)), "+web-0"},
	} {
		p := configset.PlanFor(test.set, test.children)
		if got := said(p); got != test.want || p.Empty() != (test.want == "") {
			t.Errorf("%s: the plan is %q (empty: %v), want %q", name, got, p.Empty(), test.want)
		}
	}
}

func TestARepairKeepsWhatOthersAddedAndTheVersionThatWasSeen(t *testing.T) {
	broken := child(0, recolored, withBinaryData, unlabelled, unblocked, func(c *corev1.ConfigMap) {
		c.Annotations = map[string]string{"theirs": "kept"}
		c.Finalizers = []string{"theirs/too"}
		c.OwnerReferences = append(c.OwnerReferences, metav1.OwnerReference{UID: "u9"})
	})
	before := broken.DeepCopy()
	p := configset.PlanFor(set(1), many(broken))
	if len(p.Update) != 1 {
		t.Fatalf("the plan is %q", said(p))
	}
	want := child(0, func(c *corev1.ConfigMap) {
		c.Annotations, c.Finalizers = before.Annotations, before.Finalizers
		c.OwnerReferences = append(c.OwnerReferences, metav1.OwnerReference{UID: "u9"})
	})
	if difference := cmp.Diff(want, p.Update[0]); difference != "" {
		t.Errorf("the repaired child (-want +got):\n%s", difference)
	}
	if difference := cmp.Diff(before, broken); difference != "" {
		t.Errorf("the child of the cache was modified:\n%s", difference)
	}
}

// carriedOut are the children after a plan.
func carriedOut(p configset.Plan, children []*corev1.ConfigMap) []*corev1.ConfigMap {
	now := map[string]*corev1.ConfigMap{}
	for _, c := range children {
		now[c.Name] = c
	}
	for _, gone := range append(p.Delete, p.Orphans...) {
		delete(now, gone.Name)
	}
	for _, c := range append(p.Create, p.Update...) {
		now[c.Name] = c
	}
	var all []*corev1.ConfigMap
	for _, c := range now {
		all = append(all, c)
	}
	return all
}

func TestWhateverThereIsTwoPlansMakeItRight(t *testing.T) {
	edits := []func(*corev1.ConfigMap){recolored, immutable, ofAnother, unblocked, unlabelled, withBinaryData}
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		var children []*corev1.ConfigMap
		for ordinal := range 8 {
			if random.IntN(3) > 0 {
				c := child(ordinal)
				for range random.IntN(3) {
					edits[random.IntN(len(edits))](c)
				}
				children = append(children, c)
			}
		}
		wanted := int32(random.IntN(8))
		first := configset.PlanFor(set(wanted), children)
		// An orphan is in the way of a child of its name, and an immutable one of
		// its own repair.
		first.Create = carriedOut(configset.Plan{Delete: first.Orphans}, first.Create)
		children = carriedOut(first, children)
		children = carriedOut(configset.PlanFor(set(wanted), children), children)
		if p := configset.PlanFor(set(wanted), children); !p.Empty() {
			t.Fatalf("seed %d: after two plans there is to do: %q", seed, said(p))
		}
		status, _ := configset.StatusFor(set(wanted), children, nil, time.Now())
		if len(children) != int(wanted) || status.ReadyReplicas != wanted || status.Replicas != wanted {
			t.Fatalf("seed %d: %d children, wanted %d; status %+v", seed, len(children), wanted, status)
		}
	}
}

func TestAStatusSaysWhatIsSeen(t *testing.T) {
	for name, test := range map[string]struct {
		children []*corev1.ConfigMap
		problem  error
		want     string
	}{
		"nothing yet":      {nil, nil, "0/0 False Progressing: 0 of 2 ConfigMaps are as they should be"},
		"all":              {many(child(0), child(1)), nil, "2/2 True Complete: 2 of 2 ConfigMaps are as they should be"},
		"one too many":     {many(child(0), child(1), child(2)), nil, "3/2 False Progressing: 2 of 2 ConfigMaps are as they should be"},
		"one edited":       {many(child(0), child(1, recolored)), nil, "2/1 False Progressing: 1 of 2 ConfigMaps are as they should be"},
		"one leaving":      {many(child(0), child(1, leaving)), nil, "1/1 False Progressing: 1 of 2 ConfigMaps are as they should be"},
		"another's":        {many(child(0), child(1, ofAnother)), nil, "1/1 False Progressing: 1 of 2 ConfigMaps are as they should be"},
		"a refusal":        {many(child(0)), errors.New("quota"), "1/1 False Failed: quota"},
		"somebody's name":  {nil, fmt.Errorf("web-0: %w", configset.ErrNameTaken), "0/0 False NameTaken: web-0: " + configset.ErrNameTaken.Error()},
		"a failed cleanup": {many(child(0), child(1)), errors.New("refused"), "2/2 False Failed: refused"},
	} {
		status, changed := configset.StatusFor(set(2), test.children, test.problem, time.Now())
		c := status.Conditions[0]
		got := fmt.Sprintf("%d/%d %s %s: %s", status.Replicas, status.ReadyReplicas, c.Status, c.Reason, c.Message)
		if got != test.want || !changed || status.ObservedGeneration != 3 || c.ObservedGeneration != 3 || status.Selector != configset.LabelSet+"=web" {
			t.Errorf("%s: got %q of %+v (changed: %v), want %q", name, got, status, changed, test.want)
		}
	}
}

func TestAStatusChangesOnlyWithWhatItSays(t *testing.T) {
	s, at := set(1), time.Unix(1000, 0)
	s.Status, _ = configset.StatusFor(s, many(child(0)), nil, at)
	if status, changed := configset.StatusFor(s, many(child(0)), nil, at.Add(time.Hour)); changed {
		t.Errorf("later it is another: %+v", status)
	}
	s.Generation++
	status, changed := configset.StatusFor(s, many(child(0)), nil, at.Add(time.Hour))
	if !changed || status.ObservedGeneration != 4 || !status.Conditions[0].LastTransitionTime.Time.Equal(at) {
		t.Errorf("of another generation it is %+v (changed: %v), want it observed and the time of the transition kept", status, changed)
	}
	status, _ = configset.StatusFor(s, nil, nil, at.Add(time.Hour))
	if !status.Conditions[0].LastTransitionTime.Time.Equal(at.Add(time.Hour)) {
		t.Errorf("no longer ready since %v", status.Conditions[0].LastTransitionTime)
	}
	if s.Status.Conditions[0].Status != metav1.ConditionTrue {
		t.Error("the status of the cache was modified")
	}
}
