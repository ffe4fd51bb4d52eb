package reflector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/listwatch/listwatch/internal/worker"
)

// probe is a LIST of one item that is made when its stream was silent for a while.
// It is made beside the stream, which stays open: only if it finds that the
// server's history went back it ends the stream's context. A nil probe does
// nothing.
type probe struct {
	timer *time.Timer
	group *worker.Group
}

// probe arranges for a probe of whether the server has got to e.resourceVersion.
func (d *driver[T]) probe(e effect) *probe {
	s := d.stream
	p := &probe{group: worker.New(s.ctx)}
	p.timer = time.AfterFunc(e.delay, func() {
		p.group.Go("reflector: probe", func(ctx context.Context) {
			if err := d.askForRewind(ctx, e.resourceVersion); err != nil {
				s.cancel(err)
			}
		})
	})
	return p
}

// askForRewind returns an error that wraps ErrRewound if the server's newest state
// is older than resourceVersion. It asks again, after a backoff, until the server
// answers or ctx ends. An answer without a version that can be compared tells
// nothing.
func (d *driver[T]) askForRewind(ctx context.Context, resourceVersion string) error {
	for tries := 0; ; tries++ {
		newest, err := d.newest(ctx)
		d.log.V(4).Info("Asked a server where it is", "resourceVersion", resourceVersion, "newest", newest, "err", err)
		if err == nil {
			if order, err := resourceversion.CompareResourceVersion(newest, resourceVersion); err != nil || order >= 0 {
				return nil
			}
			return fmt.Errorf("%w from resourceVersion %s to %s", ErrRewound, resourceVersion, newest)
		}
		again := time.NewTimer(max(d.options.Backoff.delay(tries, rand.Float64()), classify(err).retryAfter))
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return nil
		}
	}
}

// newest asks for the resourceVersion of the newest state.
func (d *driver[T]) newest(ctx context.Context) (string, error) {
	d.tracker.update(func(s *Status) { s.Probes++ })
	ctx, cancel := context.WithTimeoutCause(ctx, d.options.ListTimeout, ErrListOverdue)
	defer cancel()
	page, err := d.source.List(ctx, metav1.ListOptions{Limit: 1})
	return page.ResourceVersion, err
}

// forgo takes a probe back that was not made yet: something arrived.
func (p *probe) forgo() {
	if p != nil {
		p.timer.Stop()
	}
}

// close ends the probe and returns when its goroutine is gone.
func (p *probe) close() {
	if p != nil {
		p.timer.Stop()
		p.group.StopAndWait()
	}
}
