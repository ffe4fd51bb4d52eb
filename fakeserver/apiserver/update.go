package apiserver

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// errModified is the reason of every conflict of versions.
const errModified = "the object has been modified; please apply your changes to the latest version and try again"

// checkName: the body may not be about another object than the path.
func (sub *submission) checkName(q *request) error {
	name, namespace := sub.meta.GetName(), sub.meta.GetNamespace()
	switch {
	case name == "":
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s based on URL) was undeterminable: name must be provided", q.name))
	case name != q.name:
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s) does not match the name on the URL (%s)", name, q.name))
	case q.resource.namespaced && namespace != "" && namespace != q.namespace:
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the namespace of the object (%s) does not match the namespace on the request (%s)", namespace, q.namespace))
	}
	return nil
}

// update answers PUT of an object, of its /status, and of the /finalize of a
// namespace.
func (s *Server) update(q *request) error {
	sub, err := s.submitted(q, q.resource.gvk, &metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	if err := sub.checkName(q); err != nil {
		return err
	}
	if err := sub.settleNamespace(q); err != nil {
		return err
	}
	sent, err := convert(sub.object, q.resource.gvk, q.resource.stored.gvk)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	for {
		result, err := s.replace(q, sent, sub.dryRun)
		if apierrors.IsNotFound(err) && q.resource.stored.behaviour.createOnUpdate && q.subresource == "" {
			if uid := sub.meta.GetUID(); uid != "" {
				return q.objects.errUID(q.namespace, q.name, uid, "")
			}
			created, err := s.createObject(q, sub)
			if apierrors.IsAlreadyExists(err) {
				continue // somebody else was faster: update theirs
			}
			if err != nil {
				return err
			}
			return sub.answer.sendStored(q.w, http.StatusCreated, created)
		}
		if err != nil {
			return err
		}
		return sub.answer.sendStored(q.w, http.StatusOK, result)
	}
}

// replace puts sent, or the part of it that the subresource is about, in the
// place of the current state.
func (s *Server) replace(q *request, sent runtime.Object, dryRun bool) (runtime.Object, error) {
	result, err := q.objects.change(q.Context(), q.namespace, q.name, func(current record) (outcome, error) {
		if err := q.checkVersion(sent, current); err != nil {
			return outcome{}, err
		}
		next := q.merge(sent.DeepCopyObject(), current.object)
		return q.settle(next, current, dryRun)
	})
	return result.object, err
}

// settle finishes the new state of an object that is being updated.
func (q *request) settle(next runtime.Object, current record, dryRun bool) (outcome, error) {
	if err := inherit(q.resource, next, current.object); err != nil {
		return outcome{}, err
	}
	countChange(q.resource.stored, next, current.object)
	// When the last finalizer goes, what is answered is a state that nobody else
	// sees, still at the version of the one before.
	result := outcome{object: next, remove: goneWith(next), keepVersion: true}
	if dryRun {
		return result, errUnchanged
	}
	return result, nil
}

// checkVersion compares the version and the uid that were sent with the current
// ones.
func (q *request) checkVersion(sent runtime.Object, current record) error {
	sentMeta, currentMeta, err := accessors(sent, current.object)
	if err != nil {
		return err
	}
	if uid := sentMeta.GetUID(); uid != "" && uid != currentMeta.GetUID() {
		return q.objects.errUID(q.namespace, q.name, uid, currentMeta.GetUID())
	}
	version := sentMeta.GetResourceVersion()
	if version == "" || version == "0" {
		if q.resource.stored.behaviour.needsVersion {
			return invalid(q.resource, q.name, field.ErrorList{field.Invalid(
				field.NewPath("metadata", "resourceVersion"), uint64(0), "must be specified for an update")})
		}
		return nil
	}
	if version != currentMeta.GetResourceVersion() {
		return apierrors.NewConflict(q.resource.stored.resource, q.name, errors.New(errModified))
	}
	return nil
}

// merge makes the new state of what was sent and of what the request may not
// change. It may write to sent.
func (q *request) merge(sent, old runtime.Object) runtime.Object {
	switch q.subresource {
	case "status":
		next := old.DeepCopyObject()
		copyField(next, sent, "ObjectMeta")
		copyField(next, sent, "Status")
		return next
	case "finalize":
		next := old.DeepCopyObject()
		copyField(next, sent, "ObjectMeta")
		copyField(next, sent, "Spec")
		return next
	}
	if q.resource.stored.hasStatus {
		copyField(sent, old.DeepCopyObject(), "Status")
	}
	if prepare := q.resource.stored.behaviour.prepareUpdate; prepare != nil {
		prepare(sent, old)
	}
	return sent
}
