package informer

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// defaultSlowAfter is much longer than a healthy handler takes, even one that
// talks to a server, and short enough for somebody who waits.
const defaultSlowAfter = 30 * time.Second

// reportReturn is what tells that a call which was reported as slow is over.
func (r *Registration) reportReturn(ctx context.Context) func(time.Duration) {
	log := klog.FromContext(ctx)
	return func(took time.Duration) {
		log.Info("Slow call of a handler has returned", "site", r.Site(), "duration", took)
	}
}
