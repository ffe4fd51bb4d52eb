package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// reconcile brings one pod in order. It reads what is, not what has happened, so it
// may be called for any reason and any number of times.
func (c *controller) reconcile(ctx context.Context, key cache.ObjectName) error {
	cached, found := c.pods.Get(key.String())
	if !found {
		return nil // and gone with it is all that we wanted of it
	}
	pod := cached.(*corev1.Pod)
	namespace, err := c.namespaces.Get(key.Namespace)
	if apierrors.IsNotFound(err) {
		return nil // the informers have no common clock: when it comes its pods are looked at
	}
	if err != nil {
		return err
	}
	patch, needed := plan(pod, namespace)
	if !needed {
		return nil
	}
	written, err := c.client.CoreV1().Pods(key.Namespace).Patch(ctx, key.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err):
		// This pod is gone, or there is one with another UID under its name: then the
		// patch is invalid, as a UID cannot be changed. We shall hear of both.
		c.metrics.patches.WithLabelValues("gone").Inc()
		return nil
	case err != nil:
		c.metrics.patches.WithLabelValues("failed").Inc()
		return fmt.Errorf("patch pod: %w", err)
	}
	c.pods.Put(written) // from here on we see what we have written
	c.metrics.patches.WithLabelValues("written").Inc()
	c.tell(written)
	return nil
}

// tell says what was done to a pod, in the log and in an event.
func (c *controller) tell(pod *corev1.Pod) {
	key := cache.MetaObjectToName(pod).String()
	if t := teamOf(pod); t.known {
		c.log.Info("labelled", "pod", key, "team", t.name)
		c.recorder.Eventf(pod, nil, corev1.EventTypeNormal, "TeamChanged", "Label", "Belongs to team %q, as namespace %s does", t.name, pod.Namespace)
		return
	}
	c.log.Info("label removed", "pod", key)
	c.recorder.Eventf(pod, nil, corev1.EventTypeNormal, "TeamRemoved", "Unlabel", "Belongs to no team, as namespace %s does not", pod.Namespace)
}
