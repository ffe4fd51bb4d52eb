package bench

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
)

func labelled(value string) labels.Selector {
	return labels.SelectorFromSet(labels.Set{groupLabel: value})
}

// scenario writes a few changes of two pods, which move between selections.
func scenario(r *rig) {
	r.pods = []*corev1.Pod{ordinaryPod(0), ordinaryPod(1)}
	r.create()
	move := func(i int, group, node string) {
		r.pods[i].Labels[groupLabel], r.pods[i].Spec.NodeName = group, node
		r.update(i)
	}
	move(0, "a", nodeOf(1))
	move(1, "a", nodeOf(2))
	move(0, "b", nodeOf(1))
	move(1, "a", nodeOf(1))
	move(0, "a", nodeOf(2))
	if _, err := r.memory.Delete(context.Background(), keyOf(r.pods[1]), r.rvs[1]); err != nil {
		r.tb.Fatal(err)
	}
	r.update(0)
}

func TestBothSidesDeliverTheSameEvents(t *testing.T) {
	scopes := map[string]scope{
		"all": {}, "one namespace": {namespace: namespaceOf(1)}, "one node": {node: nodeOf(1)},
		"labels": {labels: labelled("a")}, "labels of a namespace": {namespace: namespaceOf(0), labels: labelled("a")},
	}
	got := map[string]map[string][]delivered{"ours": {}, "peer": {}}
	for _, side := range sides {
		r := newRig(t, setup{fromBytes: true, empty: true}, side)
		open := map[string]stream{}
		for name, s := range scopes {
			open["live: "+name] = r.side.watch(s, r.now, bare)
		}
		scenario(r)
		r.side.await(r.now)
		for name, s := range scopes {
			open["replayed: "+name] = r.side.watch(s, 1, bare)
		}
		for name := range open {
			got[r.side.name()][name] = drain(r, name, open[name])
		}
		r.close()
	}
	for name, events := range got["ours"] {
		if len(events) < 2 || !slices.Equal(events, got["peer"][name]) {
			t.Errorf("%s: ours delivers\n%v\nthe peer\n%v", name, events, got["peer"][name])
		}
	}
}

// drain reads what the scenario makes visible, and stops the watch. How many
// events that is, the table says.
func drain(r *rig, name string, s stream) []delivered {
	defer s.stop()
	visible := map[string]int{
		"all": 9, "one namespace": 4, "one node": 5, "labels": 7, "labels of a namespace": 4,
	}
	_, kind, _ := strings.Cut(name, ": ")
	var events []delivered
	for range visible[kind] {
		events = append(events, s.event())
	}
	return events
}

func TestBothSidesListTheSame(t *testing.T) {
	for _, side := range sides {
		r := newRig(t, setup{}, side)
		for i := range 50 {
			r.update(i)
		}
		r.side.await(r.now)
		if got := r.side.list(scope{}, formatJSON); got != podCount {
			t.Errorf("%s lists %d pods", r.side.name(), got)
		}
		if got := r.side.list(scope{namespace: namespaceOf(3)}, bare); got != podCount/namespaces {
			t.Errorf("%s lists %d pods of a namespace", r.side.name(), got)
		}
		if got := r.side.list(scope{node: nodeOf(3)}, formatProtobuf); got != podsPerNode {
			t.Errorf("%s lists %d pods of a node", r.side.name(), got)
		}
		if got := r.side.pages(r.now-1, 500); got != podCount {
			t.Errorf("%s lists %d pods in pages", r.side.name(), got)
		}
		r.side.get(namespaceOf(7), podName(7))
		added := 0
		list := r.side.watchList(bare)
		for list.event().Type == watch.Added {
			added++
		}
		list.stop()
		if added != podCount {
			t.Errorf("%s begins with %d pods", r.side.name(), added)
		}
		r.close()
	}
}

func TestBothSidesSendTheSameBytes(t *testing.T) {
	for _, f := range []format{formatJSON, formatProtobuf} {
		var theirs bytes.Buffer
		pod := ordinaryPod(7)
		if err := newPeerEncoder(f, &theirs).send(watch.Event{Type: watch.Modified, Object: pod}); err != nil {
			t.Fatal(err)
		}
		frame, err := f.frame(watch.Modified, pod)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(frame, theirs.Bytes()) {
			t.Errorf("%s: ours sends %d bytes\n%.300q\nthe peer %d\n%.300q", f, len(frame), frame, theirs.Len(), theirs.Bytes())
		}
	}
}
