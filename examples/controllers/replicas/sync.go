package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
	"github.com/listwatch/listwatch/informer"
)

// attempts is how many plans are made, one after the other, until there is nothing
// left to do. If that is not enough, it is a failure like others, and the caches are
// in doubt: those of a server that was restored from a backup know of a future which
// will not come, until they notice, and take what the server says for old.
const attempts = 3

// errAgain says that the plan is to be made anew. A write came too late, and what is
// there now has been read from the server into the overlays; or there is a next step.
var errAgain = errors.New("what the server has is not what was decided from, again and again")

// sync makes the ConfigSet of a key, and what belongs to it, as it should be. There
// may be none of that key.
func (t *term) sync(ctx context.Context, key string) error {
	// While the definition is missing there is nothing to do: all ConfigSets would
	// look as if they were gone. A broken connection is no reason to wait.
	if err := informer.WaitForSync(ctx, t.setCache, t.childCache); err != nil {
		return err
	}
	err := errAgain
	for n := 0; n < attempts && errors.Is(err, errAgain); n++ {
		err = t.attempt(ctx, key)
	}
	if errors.Is(err, errAgain) { // as if the caches were ahead of the server
		t.setCache.Relist()
		t.childCache.Relist()
	}
	return err
}

// attempt makes a plan for what is known, and carries it out.
func (t *term) attempt(ctx context.Context, key string) error {
	set, found := t.sets.Get(key)
	plan := configset.PlanFor(set, t.childrenOf(key))
	if err := t.removeOrphans(ctx, key, set, plan.Orphans); err != nil {
		return err
	}
	if !found {
		return nil
	}
	if plan.AddFinalizer {
		var err error
		if set, err = t.setFinalizers(ctx, set, append(slices.Clone(set.Finalizers), configset.Finalizer)); err != nil {
			return err
		}
	}
	problem := t.carryOut(ctx, set, plan)
	if problem != nil && !refused(problem) {
		return problem // a status would not get through either, or say what is over soon
	}
	now := t.childrenOf(key)
	next := configset.PlanFor(set, now)
	switch {
	case problem == nil && len(next.Create) > 0: // in place of what could not be repaired
		return errAgain
	case set.DeletionTimestamp == nil:
		return errors.Join(problem, t.writeStatus(ctx, set, now, problem))
	case next.RemoveFinalizer:
		without := slices.DeleteFunc(slices.Clone(set.Finalizers), func(f string) bool { return f == configset.Finalizer })
		_, err := t.setFinalizers(ctx, set, without)
		return errors.Join(problem, err)
	}
	return problem
}

// childrenOf are the ConfigMaps that a ConfigSet of this key controls, or did.
func (t *term) childrenOf(key string) (children []*corev1.ConfigMap) {
	found, err := t.children.ByIndex(byOwner, key)
	if err != nil {
		panic(err) // the informer was made with the index
	}
	for _, child := range found {
		children = append(children, child)
	}
	return children
}

// carryOut writes what a plan says of children. It stops at the first failure, but for
// names that are taken: those do not keep the others from being made.
func (t *term) carryOut(ctx context.Context, set *configset.ConfigSet, plan configset.Plan) error {
	var taken []error
	for _, child := range plan.Create {
		if err := t.create(ctx, set, child); errors.Is(err, configset.ErrNameTaken) {
			taken = append(taken, err)
		} else if err != nil {
			return err
		}
	}
	for _, child := range plan.Update {
		if _, err := t.update(ctx, child); err != nil {
			return err
		}
	}
	for _, child := range plan.Delete {
		if err := t.remove(ctx, child, "child"); err != nil {
			return err
		}
	}
	return errors.Join(taken...)
}

// removeOrphans deletes ConfigMaps whose ConfigSet is gone, if the server itself
// says that it is: there is set now, or none.
func (t *term) removeOrphans(ctx context.Context, key string, set *configset.ConfigSet, orphans []*corev1.ConfigMap) error {
	if len(orphans) == 0 {
		return nil
	}
	live, err := t.readSet(ctx, key)
	if err != nil {
		return err
	}
	if (live == nil) != (set == nil) || live != nil && live.UID != set.UID {
		return errAgain
	}
	for _, orphan := range orphans {
		if err := t.remove(ctx, orphan, "orphan"); err != nil {
			return err
		}
	}
	return nil
}

// readSet reads a ConfigSet from the server into the overlay; nil if it does not
// exist.
func (t *term) readSet(ctx context.Context, key string) (*configset.ConfigSet, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, err
	}
	live, err := t.controller.sets.ConfigSets(namespace).Get(ctx, name, metav1.GetOptions{})
	switch known, found := t.sets.Get(key); {
	case err == nil:
		t.sets.Put(live)
		return live, nil
	case !isGone(err):
		return nil, fmt.Errorf("read ConfigSet %s: %w", key, err)
	case found:
		t.sets.Deleted(known)
	}
	return nil, nil
}

// isGone says that the server has no such object. That it has no such resource is
// something else: it tells nothing of objects.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// refused says that the server understood what it was asked for and will not do it
// until somebody changes something: worth a word in the status.
func refused(err error) bool {
	if errors.Is(err, configset.ErrNameTaken) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := int(status.Status().Code); code {
	case http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// writeStatus writes the status if it is not what it should be.
func (t *term) writeStatus(ctx context.Context, set *configset.ConfigSet, children []*corev1.ConfigMap, problem error) error {
	status, changed := configset.StatusFor(set, children, problem, time.Now())
	if !changed {
		return nil
	}
	next := set.DeepCopy()
	next.Status = status
	written, err := t.controller.sets.ConfigSets(set.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	return t.wroteSet(ctx, set, written, "status", err)
}

// setFinalizers writes the finalizers, and returns what the ConfigSet is then.
func (t *term) setFinalizers(ctx context.Context, set *configset.ConfigSet, finalizers []string) (*configset.ConfigSet, error) {
	next := set.DeepCopy()
	next.Finalizers = finalizers
	written, err := t.controller.sets.ConfigSets(set.Namespace).Update(ctx, next, metav1.UpdateOptions{})
	return written, t.wroteSet(ctx, set, written, "finalizers", err)
}

// wroteSet notes the answer to a write of a part of a ConfigSet.
func (t *term) wroteSet(ctx context.Context, set, written *configset.ConfigSet, part string, err error) error {
	key := set.Namespace + "/" + set.Name
	t.count("write "+part, err)
	if apierrors.IsConflict(err) || isGone(err) {
		if _, err := t.readSet(ctx, key); err != nil {
			return err
		}
		return errAgain
	}
	if err != nil {
		return fmt.Errorf("write the %s of ConfigSet %s: %w", part, key, err)
	}
	if written.DeletionTimestamp != nil && len(written.Finalizers) == 0 {
		t.sets.Deleted(written)
	} else {
		t.sets.Put(written)
	}
	t.log.Info("wrote "+part, "configset", key, "resourceVersion", written.ResourceVersion,
		"ready", written.Status.ReadyReplicas, "wanted", written.Wanted())
	return nil
}

// count counts a write.
func (t *term) count(operation string, err error) {
	result := "success"
	if err != nil {
		result = "failure"
	}
	t.writes.WithLabelValues(operation, result).Inc()
}
