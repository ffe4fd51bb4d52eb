package main

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
)

// pause is the time that an onlooker has to read what followed from an act.
const pause = 700 * time.Millisecond

// demo does what people do with ConfigSets, so that there is something to see.
type demo struct {
	config *rest.Config
	scheme *runtime.Scheme
	log    *slog.Logger
}

// act is one of the things that are done.
type act struct {
	what string
	do   func(ctx context.Context, c client.Client) error
}

// acts are in order.
func acts() []act {
	meta := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "demo"}
	set := func(replicas int32) *configset.ConfigSet {
		return &configset.ConfigSet{ObjectMeta: meta, Spec: configset.ConfigSetSpec{Replicas: &replicas, Data: map[string]string{"colour": "blue"}}}
	}
	child := func(ordinal int) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: configset.ChildName(meta.Name, ordinal)}}
	}
	merge := func(patch string) client.Patch { return client.RawPatch("application/merge-patch+json", []byte(patch)) }
	create := func(replicas int32) func(context.Context, client.Client) error {
		return func(ctx context.Context, c client.Client) error { return c.Create(ctx, set(replicas)) }
	}
	return []act{
		{"create a ConfigSet of three", create(3)},
		{"make it five", func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, set(0), merge(`{"spec":{"replicas":5}}`))
		}},
		{"delete a ConfigMap of it by hand", func(ctx context.Context, c client.Client) error { return c.Delete(ctx, child(1)) }},
		{"write into another one", func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, child(2), merge(`{"data":{"colour":"red"}}`))
		}},
		{"delete the ConfigSet", func(ctx context.Context, c client.Client) error { return c.Delete(ctx, set(0)) }},
		{"create it again, of two", create(2)},
	}
}

// run does all acts, with pauses, unless ctx ends first. One that fails is passed
// over: a cluster may have a ConfigSet of that name.
func (d demo) run(ctx context.Context) error {
	c, err := client.New(d.config, client.Options{Scheme: d.scheme})
	if err != nil {
		return err
	}
	for _, act := range acts() {
		d.log.Info("demo: " + act.what)
		if err := act.do(ctx, c); err != nil && ctx.Err() == nil {
			d.log.Warn("demo: that failed", "err", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
	d.log.Info("demo: that was all; interrupt me")
	return nil
}
