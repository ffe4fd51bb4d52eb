package apiserver

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
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
	obj, code, err := s.carryOut(q, proposal{
		creates: q.resource.stored.behaviour.createOnUpdate && q.subresource == "",
		dryRun:  sub.dryRun,
		next: func(live runtime.Object) (runtime.Object, error) {
			if err := q.checkUID(sub.meta.GetUID(), live); err != nil {
				return nil, err
			}
			next, err := q.toStored(sub.object.DeepCopyObject())
			if err != nil {
				return nil, err
			}
			return next, q.trackWrite(live, next, sub.manager)
		},
	})
	if err != nil {
		return err
	}
	q.warnFinalizers(obj)
	return sub.answer.sendStored(q.w, code, obj)
}

// proposal is what a request wants an object to become.
type proposal struct {
	// next makes the wanted state of the current one, which it must not change,
	// or of nil if there is none. Both are of the stored kind.
	next    func(live runtime.Object) (runtime.Object, error)
	creates bool // the object need not exist
	dryRun  bool
}

// carryOut writes what p wants, or what of it the request may change, and
// returns it and the status code.
func (s *Server) carryOut(q *request, p proposal) (runtime.Object, int, error) {
	for {
		result, err := q.objects.change(q.Context(), q.namespace, q.name, func(current record) (outcome, error) {
			next, err := p.next(current.object)
			if err != nil {
				return outcome{}, err
			}
			if err := q.checkVersion(next, current); err != nil {
				return outcome{}, err
			}
			return q.settle(q.merge(next, current.object), current, p.dryRun)
		})
		if !apierrors.IsNotFound(err) || !p.creates {
			if err == nil && !p.dryRun {
				err = s.written(q, q.name)
			}
			return result.object, http.StatusOK, err
		}
		next, err := p.next(nil)
		if err != nil {
			return nil, 0, err
		}
		created, err := s.createObject(q, next, p.dryRun)
		if !apierrors.IsAlreadyExists(err) { // else somebody was faster: change theirs
			return created, http.StatusCreated, err
		}
	}
}

// settle finishes the new state of an object that is being updated.
func (q *request) settle(next runtime.Object, current record, dryRun bool) (outcome, error) {
	if err := q.inherit(next, current.object); err != nil {
		return outcome{}, err
	}
	if q.subresource != "status" {
		countChange(q.resource, next, current.object)
	}
	if err := keepTimes(next, current.object); err != nil {
		return outcome{}, err
	}
	// When the last finalizer goes, what is answered is a state that nobody else
	// sees, still at the version of the one before.
	result := outcome{object: next, remove: goneWith(next), keepVersion: true}
	if dryRun {
		return result, errUnchanged
	}
	return result, nil
}

// checkUID compares the uid that was sent with that of live, which is nil if
// there is no object.
func (q *request) checkUID(uid types.UID, live runtime.Object) error {
	if uid == "" {
		return nil
	}
	var actual types.UID
	if live != nil {
		accessor, _, err := accessors(live, live)
		if err != nil {
			return err
		}
		actual = accessor.GetUID()
	}
	if uid == actual {
		return nil
	}
	return q.objects.errUID(q.namespace, q.name, uid, actual)
}

// checkVersion compares the version that was sent with the current one.
func (q *request) checkVersion(sent runtime.Object, current record) error {
	sentMeta, currentMeta, err := accessors(sent, current.object)
	if err != nil {
		return err
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
	if v := q.resource.custom; v != nil {
		return v.merge(sent, old, q.subresource)
	}
	switch q.subresource {
	case "status":
		next := old.DeepCopyObject()
		copyField(next, sent, "ObjectMeta")
		copyField(next, sent, "Status")
		return next
	case "scale":
		return sent // no more than replicas were changed
	case "ephemeralcontainers":
		return keepButEphemeral(sent, old)
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
