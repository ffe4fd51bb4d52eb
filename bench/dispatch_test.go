package bench

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

const (
	// inFlight is the number of events that are on their way at any time.
	inFlight = 8
	// slots is greater than the distance between the oldest and the newest event
	// on its way.
	slots = 1 << 12
)

// dispatch is a closed loop: a writer, watchers in groups, and a token for each
// event that may be on its way. Event i is for all watchers of group i modulo
// the number of groups, so that the k-th event of a watcher is known by k: no
// event needs to be looked at.
type dispatch struct {
	*rig
	groups, each int
	// pods holds, by group, the indices of pods that the group sees.
	visible [][]int

	next    int
	tokens  chan struct{}
	waits   []atomic.Int32
	running sync.WaitGroup
	open    []stream
	closing atomic.Bool
}

// fan says who watches what.
type fan struct {
	watchers, groups int
	format           format
	fromBytes        bool
	// scope of a group, and which group a pod belongs to (less than 0: none).
	scope func(group int) scope
	group func(i int, p *corev1.Pod) int
	pods  []*corev1.Pod
}

func newDispatch(tb testing.TB, f fan, side newSide) *dispatch {
	d := &dispatch{
		rig: newRig(tb, setup{pods: f.pods, fromBytes: f.fromBytes}, side), groups: f.groups, each: f.watchers / f.groups,
		visible: make([][]int, f.groups), tokens: make(chan struct{}, inFlight), waits: make([]atomic.Int32, slots),
	}
	for i, pod := range d.rig.pods {
		if g := f.group(i, pod); g >= 0 {
			d.visible[g] = append(d.visible[g], i)
		}
	}
	for range inFlight {
		d.tokens <- struct{}{}
	}
	for i := range f.watchers {
		group := i % f.groups
		side.as(func() {
			s := d.side.watch(f.scope(group), d.now, f.format)
			d.open = append(d.open, s)
			d.running.Go(func() {
				if s.each(d.receiver(group)); !d.closing.Load() {
					panic("a watch of " + side.name + " ended: the loop would wait for ever")
				}
			})
		})
	}
	return d
}

// receiver counts the events of one watcher.
func (d *dispatch) receiver(group int) func() bool {
	index := group
	return func() bool {
		if d.waits[index%slots].Add(-1) == 0 {
			d.tokens <- struct{}{}
		}
		index += d.groups
		return true
	}
}

// push sends n events and returns when all have arrived everywhere.
func (d *dispatch) push(n int) {
	for range n {
		<-d.tokens
		group := d.next % d.groups
		d.waits[d.next%slots].Store(int32(d.each))
		pods := d.visible[group]
		d.update(pods[d.next/d.groups%len(pods)])
		d.next++
	}
	for range inFlight {
		<-d.tokens
	}
	for range inFlight {
		d.tokens <- struct{}{}
	}
	d.forget()
}

func (d *dispatch) close() {
	d.closing.Store(true)
	for _, s := range d.open {
		s.stop()
	}
	d.running.Wait()
	d.rig.close()
}

// everything is n watchers of all namespaces.
func everything(n int, f format) fan {
	return fan{
		watchers: n, groups: 1, format: f,
		scope: func(int) scope { return scope{} },
		group: func(int, *corev1.Pod) int { return 0 },
	}
}

func (f fan) compare(b *testing.B, main quantity, unit string, scale float64) {
	ours, peer := newDispatch(b, f, newOurs), newDispatch(b, f, newPeer)
	defer ours.close()
	defer peer.close()
	comparison{ours: ours.push, peer: peer.push, unit: unit, main: main, scale: scale}.run(b)
}

// BenchmarkDispatchAll: target 19. CPU of a delivery to n watchers of
// all namespaces.
func BenchmarkDispatchAll(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("watchers=%d", n), func(b *testing.B) {
			everything(n, bare).compare(b, cpu, "delivery", float64(n))
		})
	}
}

// BenchmarkDispatchDecoded is the same where both sides decode protobuf.
func BenchmarkDispatchDecoded(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("watchers=%d", n), func(b *testing.B) {
			f := everything(n, bare)
			f.fromBytes = true
			f.compare(b, cpu, "delivery", float64(n))
		})
	}
}

// onNodes places the pods on n nodes, in turn.
func onNodes(n int) []*corev1.Pod {
	pods := make([]*corev1.Pod, podCount)
	for i, base := range basePods() {
		pod := *base
		pod.Spec.NodeName = nodeOf(i % n)
		pods[i] = &pod
	}
	return pods
}

func nodes(n int, f format) fan {
	all := max(n, podCount/podsPerNode)
	return fan{
		watchers: n, groups: n, format: f, pods: onNodes(all),
		scope: func(group int) scope { return scope{node: nodeOf(group)} },
		group: func(i int, _ *corev1.Pod) int {
			if i%all < n {
				return i % all
			}
			return -1
		},
	}
}

// BenchmarkDispatchNode: target 20. Time of an event that one of n watchers
// sees, each of which watches the pods of its node.
func BenchmarkDispatchNode(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("watchers=%d", n), func(b *testing.B) {
			nodes(n, bare).compare(b, wall, "event", 1)
		})
	}
}

// BenchmarkDispatchNamespace is n watchers, each of one of a hundred namespaces.
func BenchmarkDispatchNamespace(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("watchers=%d", n), func(b *testing.B) {
			fan{
				watchers: n, groups: namespaces, format: bare,
				scope: func(group int) scope { return scope{namespace: namespaceOf(group)} },
				group: func(i int, _ *corev1.Pod) int { return i % namespaces },
			}.compare(b, wall, "event", 1)
		})
	}
}

// BenchmarkEncode: target 22. Time of an event that n watchers of all namespaces
// are sent.
func BenchmarkEncode(b *testing.B) {
	for _, f := range []format{formatJSON, formatProtobuf} {
		for _, n := range []int{1, 10, 100, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/watchers=%d", f, n), func(b *testing.B) {
				everything(n, f).compare(b, wall, "event", 1)
			})
		}
		b.Run(fmt.Sprintf("%s/node/watchers=1000", f), func(b *testing.B) {
			nodes(1000, f).compare(b, wall, "event", 1)
		})
	}
}

// quietEvents is the number of events that one watcher sees before one that all
// see, which tells that all have looked at those before.
const quietEvents = 50

// warmEvents let the peer's window grow before its watchers come, and with it the
// channels of these: they take more than quietEvents then. Else the peer would
// end watchers for being slow.
const warmEvents = 5000

// quiet is n watchers of all namespaces with a label selector each, of which
// only the first matches what is written.
type quiet struct {
	*rig
	watchers int
	seen     chan struct{}
	loud     sync.WaitGroup
	running  sync.WaitGroup
	open     []stream
	closing  atomic.Bool
}

// newQuiet labels the first pod for all, the others for the first watcher.
func newQuiet(tb testing.TB, n int, side newSide) *quiet {
	pods := make([]*corev1.Pod, podCount)
	for i, base := range basePods() {
		pod := *base
		group := "0"
		if i == 0 {
			group = "all"
		}
		pod.Labels = map[string]string{groupLabel: group}
		for key, value := range base.Labels {
			pod.Labels[key] = value
		}
		pods[i] = &pod
	}
	q := &quiet{rig: newRig(tb, setup{pods: pods}, side), watchers: n, seen: make(chan struct{}, inFlight)}
	q.updates(warmEvents)
	for i := range n {
		in, err := labels.NewRequirement(groupLabel, selection.In, []string{"all", fmt.Sprint(i)})
		if err != nil {
			tb.Fatal(err)
		}
		side.as(func() {
			s := q.side.watch(scope{labels: labels.NewSelector().Add(*in)}, q.now, bare)
			q.open = append(q.open, s)
			q.running.Go(func() {
				if s.each(q.receiver(i == 0)); !q.closing.Load() {
					panic("a watch of " + side.name + " ended: the loop would wait for ever")
				}
			})
		})
	}
	return q
}

func (q *quiet) receiver(first bool) func() bool {
	count := 0
	return func() bool {
		if count++; first && count%(quietEvents+1) != 0 {
			q.seen <- struct{}{}
		} else {
			q.loud.Done()
		}
		return true
	}
}

// push writes n times quietEvents events, each lot followed by one for all.
func (q *quiet) push(n int) {
	pod := 1
	for range n {
		for i := range quietEvents {
			if i >= inFlight {
				<-q.seen
			}
			q.update(pod)
			pod = 1 + pod%(podCount-1)
		}
		for range inFlight {
			<-q.seen
		}
		q.loud.Add(q.watchers)
		q.update(0)
		q.loud.Wait()
	}
	q.forget()
}

func (q *quiet) close() {
	q.closing.Store(true)
	for _, s := range q.open {
		s.stop()
	}
	q.running.Wait()
	q.rig.close()
}

// BenchmarkSelectorMiss: target 21. CPU of an event for each of n watchers whose
// label selector it does not match.
func BenchmarkSelectorMiss(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("watchers=%d", n), func(b *testing.B) {
			ours, peer := newQuiet(b, n, newOurs), newQuiet(b, n, newPeer)
			defer ours.close()
			defer peer.close()
			comparison{ours: ours.push, peer: peer.push, unit: "watcher", main: cpu, scale: quietEvents * float64(n)}.run(b)
		})
	}
}
