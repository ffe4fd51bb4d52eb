package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// demo gives the controller something to do, until ctx ends: two namespaces, three
// pods in each, and a change every other second. It knows nothing of the controller,
// and does not mind if the server goes away or begins anew.
func demo(ctx context.Context, config *rest.Config, log *slog.Logger) {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(config, name+"-demo"))
	if err != nil {
		log.Error("demo: no client", "err", err)
		return
	}
	d := &demonstration{client: client, log: log}
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for n := 0; ; n++ {
		if err := d.act(ctx, n); err != nil && ctx.Err() == nil {
			log.Warn("demo: skipped", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

type demonstration struct {
	client kubernetes.Interface
	log    *slog.Logger
}

var demoTeams = map[string][]string{"demo-shop": {"web", "sales"}, "demo-bank": {"money", "audit"}}

// act sets the scene, as far as it is not set, and makes the n-th change.
func (d *demonstration) act(ctx context.Context, n int) error {
	for _, namespace := range []string{"demo-shop", "demo-bank"} {
		if err := d.ensure(ctx, namespace); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	namespace := []string{"demo-shop", "demo-bank"}[n/3%2]
	pods := d.client.CoreV1().Pods(namespace)
	switch n % 3 {
	case 1:
		team := demoTeams[namespace][n/6%2]
		d.log.Info("demo: another team takes over", "namespace", namespace, "team", team)
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, teamLabel, team)
		_, err := d.client.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	case 2:
		d.log.Info("demo: somebody spoils a label", "pod", namespace+"/pod-1")
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"nobody"}}}`, teamLabel)
		_, err := pods.Patch(ctx, "pod-1", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	default:
		d.log.Info("demo: a pod is replaced", "pod", namespace+"/pod-2")
		now := int64(0)
		return pods.Delete(ctx, "pod-2", metav1.DeleteOptions{GracePeriodSeconds: &now})
	}
}

// ensure creates what is not there of a namespace and its pods.
func (d *demonstration) ensure(ctx context.Context, namespace string) error {
	_, err := d.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{teamLabel: demoTeams[namespace][1]},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	for i := range 3 {
		_, err := d.client.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause"}}},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}
