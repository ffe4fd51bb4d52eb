package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
)

// lookAgain is how long a name that somebody else has is left to them. Nothing tells
// when they give it up: ConfigMaps that no ConfigSet controls are nobody's request.
const lookAgain = time.Minute

// reconciler makes the ConfigMaps of a ConfigSet what it says. It has no memory: all
// that it does follows from what it reads.
type reconciler struct {
	client client.Client // reads from the cache, and finds there what it has written
	live   client.Reader // asks the server
}

// Reconcile does what there is to be done for one ConfigSet, or for what is left of
// one.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	set := &configset.ConfigSet{}
	if err := r.client.Get(ctx, request.NamespacedName, set); apierrors.IsNotFound(err) {
		set = nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	children, err := r.children(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := configset.PlanFor(set, children)
	if set == nil || len(plan.Orphans) > 0 {
		// Whatever comes next begins with a read that waits for the ends of these. If
		// their names were given again before, a list of the informer might show the new
		// objects as updates of the old ones, and the ends never.
		return ctrl.Result{}, r.removeOrphans(ctx, request.NamespacedName, plan.Orphans)
	}
	a := attempt{reconciler: r, set: set, children: children}
	err = a.carryOut(ctx, plan)
	if apierrors.IsConflict(err) {
		return ctrl.Result{}, err // somebody else was faster, which is no news for the status
	}
	if err != nil || set.DeletionTimestamp == nil {
		err = errors.Join(err, a.tell(ctx, errors.Join(err, errors.Join(a.taken...))))
	}
	if err == nil && len(a.taken) > 0 {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	return ctrl.Result{}, err
}

// children are the ConfigMaps that a ConfigSet of that name controls.
func (r *reconciler) children(ctx context.Context, set client.ObjectKey) ([]*corev1.ConfigMap, error) {
	var list corev1.ConfigMapList
	if err := r.client.List(ctx, &list, client.InNamespace(set.Namespace), client.MatchingFields{ownerIndex: set.Name}); err != nil {
		return nil, err
	}
	children := make([]*corev1.ConfigMap, len(list.Items))
	for i := range list.Items {
		children[i] = &list.Items[i]
	}
	return children, nil
}

// removeOrphans deletes children whose ConfigSet is gone, if the server says so, too:
// the cache of ConfigSets may be behind that of ConfigMaps.
func (r *reconciler) removeOrphans(ctx context.Context, name client.ObjectKey, orphans []*corev1.ConfigMap) error {
	if len(orphans) == 0 {
		return nil
	}
	var now configset.ConfigSet // without a UID if there is none
	if err := r.live.Get(ctx, name, &now); client.IgnoreNotFound(err) != nil {
		return err
	}
	for _, orphan := range orphans {
		if owner, ok := configset.OwnerOf(orphan); !ok || owner.UID == now.UID {
			continue
		}
		if err := r.remove(ctx, orphan); err != nil {
			return err
		}
		log.FromContext(ctx).Info("deleted an orphan", "configmap", orphan.Name)
	}
	return nil
}

// remove deletes child if it still is what was seen.
func (r *reconciler) remove(ctx context.Context, child *corev1.ConfigMap) error {
	seen := client.Preconditions{UID: &child.UID, ResourceVersion: &child.ResourceVersion}
	if err := r.client.Delete(ctx, child, seen); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ConfigMap %s: %w", child.Name, err)
	}
	return nil
}

// attempt is the work on one ConfigSet.
type attempt struct {
	*reconciler
	set      *configset.ConfigSet
	children []*corev1.ConfigMap // as they are after what was done
	taken    []error             // names that somebody else has
}

// carryOut writes what is planned, up to the first failure. Names that somebody else
// has are none: they are noted.
func (a *attempt) carryOut(ctx context.Context, plan configset.Plan) error {
	if plan.AddFinalizer {
		if err := a.hold(ctx); err != nil {
			return err
		}
	}
	for _, child := range plan.Create {
		if err := a.create(ctx, child); errors.Is(err, configset.ErrNameTaken) {
			a.taken = append(a.taken, err)
		} else if err != nil {
			return err
		}
	}
	for _, child := range plan.Update {
		if err := a.update(ctx, child.DeepCopy()); err != nil {
			return err
		}
	}
	for _, child := range plan.Delete {
		if err := a.remove(ctx, child); err != nil {
			return err
		}
		a.now(child.Name, nil)
		log.FromContext(ctx).Info("deleted", "configmap", child.Name)
	}
	if plan.RemoveFinalizer {
		return a.release(ctx)
	}
	return nil
}

// hold adds the finalizer to the ConfigSet.
func (a *attempt) hold(ctx context.Context) error {
	seen := a.set.DeepCopy()
	controllerutil.AddFinalizer(a.set, configset.Finalizer)
	if err := a.client.Patch(ctx, a.set, client.MergeFromWithOptions(seen, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("add the finalizer: %w", err)
	}
	log.FromContext(ctx).Info("added the finalizer")
	return nil
}

// release removes the finalizer, and with the last one the ConfigSet is gone. That has
// no version that the cache could be waited for, so it may show a ConfigSet that was
// released before: the server knows.
func (a *attempt) release(ctx context.Context) error {
	var now configset.ConfigSet
	if err := a.live.Get(ctx, client.ObjectKeyFromObject(a.set), &now); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the ConfigSet: %w", err)
	}
	seen := now.DeepCopy()
	if now.UID != a.set.UID || !controllerutil.RemoveFinalizer(&now, configset.Finalizer) {
		return nil
	}
	if err := a.client.Patch(ctx, &now, client.MergeFromWithOptions(seen, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("remove the finalizer: %w", err)
	}
	log.FromContext(ctx).Info("removed the finalizer")
	return nil
}

// create creates child. If there is one of its name it is taken over, provided that it
// is nobody else's.
func (a *attempt) create(ctx context.Context, child *corev1.ConfigMap) error {
	created := child.DeepCopy() // its data is the ConfigSet's
	err := a.client.Create(ctx, created)
	if err == nil {
		a.now(child.Name, created)
		log.FromContext(ctx).Info("created", "configmap", child.Name)
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create ConfigMap %s: %w", child.Name, err)
	}
	var found corev1.ConfigMap
	if err := a.live.Get(ctx, client.ObjectKeyFromObject(child), &found); err != nil {
		return fmt.Errorf("read ConfigMap %s: %w", child.Name, err)
	}
	if owner, ok := configset.OwnerOf(&found); ok && owner.UID == a.set.UID {
		return nil // made by another process like this, and on its way to the cache
	}
	adopted, ok := configset.Adopted(a.set, &found)
	if !ok {
		return fmt.Errorf("ConfigMap %s: %w", child.Name, configset.ErrNameTaken)
	}
	return a.update(ctx, adopted)
}

// update writes child, which is of this program.
func (a *attempt) update(ctx context.Context, child *corev1.ConfigMap) error {
	if err := a.client.Update(ctx, child); err != nil {
		return fmt.Errorf("update ConfigMap %s: %w", child.Name, err)
	}
	a.now(child.Name, child)
	log.FromContext(ctx).Info("updated", "configmap", child.Name)
	return nil
}

// now notes that child is what the ConfigMap of that name is, or that there is none.
func (a *attempt) now(name string, child *corev1.ConfigMap) {
	a.children = slices.DeleteFunc(a.children, func(old *corev1.ConfigMap) bool { return old.Name == name })
	if child != nil {
		a.children = append(a.children, child)
	}
}

// tell writes the status, if it is not what it should be.
func (a *attempt) tell(ctx context.Context, problem error) error {
	status, changed := configset.StatusFor(a.set, a.children, problem, time.Now())
	if !changed {
		return nil
	}
	a.set.Status = status
	if err := a.client.Status().Update(ctx, a.set); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("status: %w", err)
	}
	ready := status.Conditions[0]
	log.FromContext(ctx).Info("told the status", "ready", ready.Status == metav1.ConditionTrue, "reason", ready.Reason, "message", ready.Message)
	return nil
}
