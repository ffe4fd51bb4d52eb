package ops

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// Those that Kubernetes' own controllers have.
const (
	leaseDuration = 15 * time.Second // without a renewal, until others may take the lease
	renewDeadline = 10 * time.Second // without a renewal, until the holder stops by itself
	retryPeriod   = 2 * time.Second
)

// Lead calls work, at once or, with LeaderElect, once this process holds the lease.
// Work's context ends with ctx, or when the lease is lost. The lease is released only
// when work has returned, so that there are never two at work.
//
// A process that loses its lease could end itself, as many do, and be started again
// by whoever runs it. Here it is a candidate again: work may be called several times,
// one after the other, and has to make anew all that runs only once.
//
// Lead returns when ctx has ended and work has returned, or when work returns by
// itself, with what work returned. One that is a candidate returns ctx's error.
func Lead(ctx context.Context, o Options, client kubernetes.Interface, work func(ctx context.Context) error) error {
	if !o.LeaderElect {
		return work(ctx)
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("an identity for the leader election: %w", err)
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: o.LeaseNamespace, Name: o.LeaseName},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}
	for {
		t := term{ctx: ctx, work: work, worked: make(chan struct{})}
		lost, err := t.serve(lock)
		if !lost {
			return err
		}
		klog.FromContext(ctx).Info("Lost the lease, trying to get it again", "lock", lock.Describe(), "err", err)
	}
}

// term is one time of holding the lease, and the wait for it.
type term struct {
	ctx  context.Context
	work func(ctx context.Context) error

	phase  atomic.Int32  // candidate, then one of the others
	worked chan struct{} // closed when work has returned, if the phase is working
	lost   bool          // how it ended, set before worked is closed
	err    error
}

// The phases of a term. Who changes it from candidate decides whether work is called.
const (
	candidate = iota
	working
	withdrawn
)

// serve is a term from its beginning to its end. It reports whether the lease was
// lost, and what work returned.
func (t *term) serve(lock resourcelock.Interface) (lost bool, err error) {
	// The elector releases the lease when its context ends. That is not ctx: work
	// needs time to end after ctx has.
	election, leave := context.WithCancel(context.WithoutCancel(t.ctx))
	defer leave()
	defer context.AfterFunc(t.ctx, func() {
		if t.phase.CompareAndSwap(candidate, withdrawn) {
			leave()
		}
	})()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		Name:            lock.Describe(),
		LeaseDuration:   leaseDuration,
		RenewDeadline:   renewDeadline,
		RetryPeriod:     retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				if t.phase.CompareAndSwap(candidate, working) {
					defer leave()
					t.lead(leading)
				}
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return false, err
	}
	elector.Run(election)
	// Run does not wait for OnStartedLeading, which may not even have begun.
	if t.phase.CompareAndSwap(candidate, withdrawn) || t.phase.Load() == withdrawn {
		return t.ctx.Err() == nil, t.ctx.Err()
	}
	<-t.worked
	return t.lost, t.err
}

// lead works until work returns, which it is told to do when ctx ends or the lease,
// and with it leading, is lost.
func (t *term) lead(leading context.Context) {
	defer close(t.worked)
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	defer context.AfterFunc(leading, stop)()
	t.err = t.work(ctx)
	t.lost = leading.Err() != nil && t.ctx.Err() == nil
}
