package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
)

const (
	demoNamespace = "default"
	// pace is the pause between two steps at first; later it is slowPace.
	pace, slowPace = 700 * time.Millisecond, 15 * time.Second
)

// demo is a user of ConfigSets, and somebody who does not know that ConfigMaps belong
// to one.
type demo struct {
	of  *controller
	log *slog.Logger
}

func newDemo(c *controller) *demo { return &demo{of: c, log: c.log} }

// step is one thing that the demonstration does.
type step struct {
	what string
	do   func(context.Context) error
	set  string // what is to be complete, or gone, afterwards
}

// run shows everything in a few seconds, and goes on slowly until ctx ends.
func (d *demo) run(ctx context.Context) {
	if d.of.setCache.WaitForSync(ctx) != nil { // the definition has to be there
		return
	}
	pause := time.Duration(0)
	for next := pace; ; next = slowPace {
		for _, s := range d.steps() {
			if !sleep(ctx, pause) {
				return
			}
			pause = next
			d.log.Info("demo: " + s.what)
			began, changed := time.Now(), d.watch(d.now(), s.set)
			if err := s.do(ctx); err != nil {
				d.log.Warn("demo: cannot go on with this", "step", s.what, "err", err)
				changed.stop()
				if apierrors.IsNotFound(err) { // the server has begun anew
					break
				}
				continue
			}
			if ready := d.await(ctx, changed, s.set); ready != "" {
				d.log.Info("demo: "+ready, "configset", s.set, "after", time.Since(began).Round(time.Millisecond))
			}
		}
	}
}

func (d *demo) steps() []step {
	maps, sets := d.of.maps.CoreV1().ConfigMaps(demoNamespace), d.of.sets.ConfigSets(demoNamespace)
	patch := func(with string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := sets.Patch(ctx, "greeter", types.MergePatchType, []byte(with), metav1.PatchOptions{})
			return err
		}
	}
	return []step{
		{"creates a ConfigSet of 3", func(ctx context.Context) error {
			set := &configset.ConfigSet{ObjectMeta: metav1.ObjectMeta{Name: "greeter"}}
			set.Spec = configset.ConfigSetSpec{Replicas: new(int32(3)), Data: map[string]string{"greeting": "hello"}}
			_, err := sets.Create(ctx, set, metav1.CreateOptions{})
			return err
		}, "greeter"},
		{"scales it to 5", patch(`{"spec":{"replicas":5}}`), "greeter"},
		{"edits a child by hand", func(ctx context.Context) error {
			_, err := maps.Patch(ctx, "greeter-1", types.MergePatchType, []byte(`{"data":{"greeting":"go away"}}`), metav1.PatchOptions{})
			return err
		}, "greeter"},
		{"deletes a child by hand", func(ctx context.Context) error { return maps.Delete(ctx, "greeter-2", metav1.DeleteOptions{}) }, "greeter"},
		{"changes the data of all", patch(`{"spec":{"data":{"greeting":"good day"}}}`), "greeter"},
		{"scales it to 2", patch(`{"spec":{"replicas":2}}`), "greeter"},
		{"makes an orphan: a ConfigMap of a ConfigSet that does not exist", func(ctx context.Context) error {
			ghost := &configset.ConfigSet{ObjectMeta: metav1.ObjectMeta{Name: "ghost", Namespace: demoNamespace, UID: "of-nobody"}}
			_, err := maps.Create(ctx, configset.Child(ghost, 0), metav1.CreateOptions{})
			return err
		}, "ghost"},
		{"deletes the ConfigSet", func(ctx context.Context) error { return sets.Delete(ctx, "greeter", metav1.DeleteOptions{}) }, "greeter"},
	}
}

// await waits for the change, and then until a ConfigSet is complete, or gone with its
// children; it says which. It reads the controller's caches, and never asks the server.
// A step may have changed nothing, as scaling to what it has been scaled to before an
// outage: so it does not wait for ever.
func (d *demo) await(ctx context.Context, changed change, name string) (ready string) {
	ctx, enough := context.WithTimeout(ctx, slowPace)
	defer enough()
	for ctx.Err() == nil && ready == "" {
		changed.wait(ctx)
		now := d.now()
		changed = d.watch(now, name)
		ready = d.ready(now, name)
	}
	changed.stop()
	return ready
}

// change tells that something has happened to a ConfigSet or its children.
type change struct{ set, children *indexer.Watch }

// watch waits for a change since a moment. It is to be begun before what causes the
// change, or an orphan may have come and gone.
func (d *demo) watch(since *informer.Moment, name string) change {
	key := demoNamespace + "/" + name
	set, err1 := d.of.setCache.Watch(d.of.setCache.SnapshotIn(since), indexer.Key(key))
	children, err2 := d.of.childCache.Watch(d.of.childCache.SnapshotIn(since), indexer.Is(byOwner, key))
	if err := errors.Join(err1, err2); err != nil {
		panic(err) // the informer was made with the index
	}
	return change{set, children}
}

func (c change) wait(ctx context.Context) {
	select {
	case <-c.set.Changed():
	case <-c.children.Changed():
	case <-ctx.Done():
	}
	c.stop()
}

func (c change) stop() {
	c.set.Stop()
	c.children.Stop()
}

func (d *demo) now() *informer.Moment { return informer.Together(d.of.setCache, d.of.childCache) }

// ready says that there is nothing to be done for a ConfigSet; "" if there is.
func (d *demo) ready(at *informer.Moment, name string) string {
	key := demoNamespace + "/" + name
	set, found := d.of.setCache.SnapshotIn(at).Get(key)
	owned, err := d.of.childCache.SnapshotIn(at).ByIndex(byOwner, key)
	if err != nil {
		panic(err) // the informer was made with the index
	}
	var children []*corev1.ConfigMap
	for _, child := range owned {
		children = append(children, child)
	}
	switch {
	case !configset.PlanFor(set, children).Empty():
		return ""
	case !found:
		return "it is gone, with its ConfigMaps"
	case set.Status.ObservedGeneration < set.Generation || int(set.Status.ReadyReplicas) != set.Wanted():
		return ""
	}
	return fmt.Sprintf("all %d ConfigMaps are as they should be", len(children))
}

// sleep reports whether ctx has not ended meanwhile.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
