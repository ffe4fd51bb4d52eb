package dropin

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/config"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/internal/bubble"
)

// candidate is a manager that reconciles while it leads.
type candidate struct {
	*operator
	stop  context.CancelFunc
	ended chan struct{}
	err   error // at the end
}

// newCandidate makes one with informers of m, which notes in notes. If it is warm, its
// informers run before it leads.
func newCandidate(srv *fakeserver.Server, m maker, name string, notes *journal, warm bool) *candidate {
	GinkgoHelper()
	o := manage(srv, m, ctrl.Options{
		LeaderElection: true, LeaderElectionID: "lock", LeaderElectionNamespace: "a", LeaderElectionReleaseOnCancel: true,
		LeaseDuration: ptr(150 * time.Second), RenewDeadline: ptr(100 * time.Second), RetryPeriod: ptr(20 * time.Second), // each costs
		Controller: config.Controller{EnableWarmup: &warm},
	})
	o.journal = notes
	for _, s := range shapes {
		full := name + " " + s.name
		o.control(full, builder.ControllerManagedBy(o).Watches(s.object(), o.telling(full)), o.seeing(s))
	}
	return &candidate{operator: o, ended: make(chan struct{})}
}

func (c *candidate) start() error {
	ctx, stop := context.WithCancel(bubble.Context())
	c.stop = stop
	go func() { defer close(c.ended); c.err = c.Start(ctx) }()
	bubble.Cleanup(func() { stop(); <-c.ended })
	return nil
}

// watches reports whether a manager asked for ConfigMaps.
func (c *candidate) watches() bool {
	reads, _ := c.net.take()
	return slices.ContainsFunc(reads, func(read string) bool { return strings.Contains(read, "/configmaps") })
}

// succession plays two managers, of which the second leads after the end of the first:
// it is told to stop, or loses its connections.
//
// bubble: used in them only
func succession(first, second maker, told, warm bool) []string {
	GinkgoHelper()
	srv, _ := newServer()
	notes := &journal{}
	a, b := newCandidate(srv, first, "first", notes, warm), newCandidate(srv, second, "second", notes, warm)
	b.beside = append(b.beside, a.net)
	b.create("1", "same", "changed", "deleted", "again", "later")
	// A controller that is elected while it warms up waits for a mutex, for which virtual
	// time does not pass. This lease is not taken at once.
	now := metav1.NowMicro()
	Expect(b.createAll(&coordinationv1.Lease{ObjectMeta: named("a", "lock"), Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr("before"), LeaseDurationSeconds: ptr(int32(150)), AcquireTime: &now, RenewTime: &now,
	}})).To(Succeed())
	b.then("the first", a.start)
	b.then("the second", b.start)
	Expect(b.watches()).To(Equal(warm))
	b.then("something happens", func() error { b.change("later", "2"); b.create("1", "new"); return nil })
	b.then("the second does not see all", b.unseen(nil, func() {
		b.change("changed", "2")
		b.remove("deleted", "again", "new")
		time.Sleep(time.Second) // the first sees that
		b.create("2", "again")
	}))
	b.then("the first ends", func() error {
		if told {
			a.stop()
			<-a.ended
			Expect(a.err).NotTo(HaveOccurred())
		} else {
			grown(a.net, b.net)
			a.net.down.Store(true)
			srv.DropWatches()
		}
		b.change("changed", "3")
		b.remove("later")
		b.create("3", "late")
		return nil
	})
	if !told {
		<-a.ended
		Expect(a.err).To(MatchError(ContainSubstring("leader election lost")))
	}
	b.then("something else happens", func() error { b.change("late", "4"); b.remove("again"); return nil })
	b.stop()
	<-b.ended
	Expect(b.err).NotTo(HaveOccurred())
	return b.trace
}

var _ = Describe("Two managers that elect a leader", func() {
	for _, c := range []struct {
		how        string
		told, warm bool
	}{
		{"which is told to end, and the next one has warmed up", true, true},
		{"which loses its connections, and the next one starts afresh", false, false},
	} {
		bubble.It("lose nothing, and reconcile the same with client-go's informers, ours and both, "+c.how, func() {
			theirs := succession(makers[0], makers[0], c.told, c.warm)
			ours := succession(makers[1], makers[1], c.told, c.warm)
			GinkgoWriter.Println(strings.Join(ours, "\n"))
			Expect(only(ours, theirs)).To(BeEmpty())
			var unchanged []string // told, by the list after the gap, to those who wait
			for _, s := range shapes {
				unchanged = append(unchanged, "second "+s.name+" is told: update 1 to 1, unchanged true, other UID false of same",
					"second "+s.name+" is told: update 2 to 2, unchanged true, other UID false of later")
			}
			if !c.warm {
				unchanged = nil
			}
			Expect(only(theirs, ours)).To(ConsistOf(unchanged))
			Expect(cmp.Diff(ours, succession(makers[0], makers[1], c.told, c.warm))).To(BeEmpty())
		})
	}
})
