package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
)

// create creates a child. That it exists already is found out here: the cache may
// lag behind what this controller has written before its restart, or another one
// before it lost the lease.
func (t *term) create(ctx context.Context, set *configset.ConfigSet, child *corev1.ConfigMap) error {
	created, err := t.maps.CoreV1().ConfigMaps(child.Namespace).Create(ctx, child, metav1.CreateOptions{})
	t.count("create child", err)
	if apierrors.IsAlreadyExists(err) {
		return t.exists(ctx, set, child)
	}
	if err != nil {
		return fmt.Errorf("create ConfigMap %s/%s: %w", child.Namespace, child.Name, err)
	}
	t.wrote("created child", created)
	return nil
}

// exists deals with what is in the way of a child.
func (t *term) exists(ctx context.Context, set *configset.ConfigSet, child *corev1.ConfigMap) error {
	live, err := t.readChild(ctx, child)
	if err != nil {
		return err
	}
	if owner, ok := configset.OwnerOf(live); ok && owner.Key() == set.Namespace+"/"+set.Name {
		return errAgain // it is in the next plan
	}
	adopted, ok := configset.Adopted(set, live)
	if !ok {
		return fmt.Errorf("%s: %w", child.Name, configset.ErrNameTaken)
	}
	if _, err = t.update(ctx, adopted); err != nil {
		return err
	}
	return errAgain // it may need repair
}

// update writes a child as it should be.
func (t *term) update(ctx context.Context, child *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	written, err := t.maps.CoreV1().ConfigMaps(child.Namespace).Update(ctx, child, metav1.UpdateOptions{})
	t.count("repair child", err)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil, t.stale(ctx, child)
	}
	if err != nil {
		return nil, fmt.Errorf("repair ConfigMap %s/%s: %w", child.Namespace, child.Name, err)
	}
	t.wrote("repaired child", written)
	return written, nil
}

// remove deletes what was seen, and not what may have its name by now.
func (t *term) remove(ctx context.Context, child *corev1.ConfigMap, what string) error {
	err := t.maps.CoreV1().ConfigMaps(child.Namespace).Delete(ctx, child.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &child.UID, ResourceVersion: &child.ResourceVersion},
	})
	t.count("delete "+what, err)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return t.stale(ctx, child)
	}
	if err != nil {
		return fmt.Errorf("delete ConfigMap %s/%s: %w", child.Namespace, child.Name, err)
	}
	t.log.Info("deleted "+what, "configmap", child.Namespace+"/"+child.Name)
	if len(child.Finalizers) > 0 { // it is only marked, and its end will be told
		_, err = t.readChild(ctx, child)
		return err
	}
	t.children.Deleted(child)
	return nil
}

// wrote notes what the server has of a child now.
func (t *term) wrote(operation string, child *corev1.ConfigMap) {
	child.ManagedFields = nil // as in the cache
	t.children.Put(child)
	t.log.Info(operation, "configmap", child.Namespace+"/"+child.Name, "resourceVersion", child.ResourceVersion)
}

// stale reads a child that is not what it was thought to be.
func (t *term) stale(ctx context.Context, child *corev1.ConfigMap) error {
	if _, err := t.readChild(ctx, child); err != nil {
		return err
	}
	return errAgain
}

// readChild reads a child from the server into the overlay. That it is gone is
// noted, and errAgain.
func (t *term) readChild(ctx context.Context, child *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	live, err := t.maps.CoreV1().ConfigMaps(child.Namespace).Get(ctx, child.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if child.ResourceVersion != "" { // it was there
			t.children.Deleted(child)
		}
		return nil, errAgain
	}
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s/%s: %w", child.Namespace, child.Name, err)
	}
	live.ManagedFields = nil
	t.children.Put(live)
	return live, nil
}
