package apiserver

import (
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// submission is the object that a request brought.
type submission struct {
	object  runtime.Object // of the kind that was asked for
	meta    metav1.Object  // of object
	dryRun  bool
	manager string // who writes
	answer  encoder
}

// submitted reads everything that POST and PUT have in common. want is the kind
// that the body must be of.
func (s *Server) submitted(q *request, want schema.GroupVersionKind, options runtime.Object) (submission, error) {
	var sub submission
	out, err := q.negotiate(objectForms...)
	if err != nil {
		return sub, err
	}
	sub.answer = newEncoder(q.resource, out)
	if err := decodeQuery(q.URL.Query(), options); err != nil {
		return sub, err
	}
	validation, err := sub.validateOptions(options)
	if err != nil {
		return sub, err
	}
	f, err := bodyFormat(q.Header.Get("Content-Type"))
	if err == nil && q.resource.custom != nil && f == formatProtobuf {
		err = errCustomContentType()
	}
	if err != nil {
		return sub, err
	}
	data, err := readBody(q.Request, s.options.BodyLimit)
	if err != nil {
		return sub, err
	}
	obj, problems, err := q.decodeBody(data, f, want)
	if err != nil {
		return sub, err
	}
	if err := checkFields(q.w, validation, want, problems); err != nil {
		return sub, err
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return sub, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	dropDuplicateOwners(q.w, accessor)
	accessor.SetSelfLink("")
	sub.object, sub.meta = obj, accessor
	sub.manager = managerOf(q, sub.manager)
	return sub, sub.answer.checkForm(false)
}

// validateOptions returns the value of fieldValidation.
func (sub *submission) validateOptions(options runtime.Object) (string, error) {
	var errs field.ErrorList
	kind, validation := "", ""
	switch o := options.(type) {
	case *metav1.CreateOptions:
		errs, kind, validation = metavalidation.ValidateCreateOptions(o), "CreateOptions", o.FieldValidation
		sub.dryRun, sub.manager = len(o.DryRun) > 0, o.FieldManager
	case *metav1.UpdateOptions:
		errs, kind, validation = metavalidation.ValidateUpdateOptions(o), "UpdateOptions", o.FieldValidation
		sub.dryRun, sub.manager = len(o.DryRun) > 0, o.FieldManager
	}
	if len(errs) > 0 {
		return "", apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
	}
	return validation, nil
}

// settleNamespace gives the object the namespace of the request.
func (sub *submission) settleNamespace(q *request) error {
	if !q.resource.namespaced {
		sub.meta.SetNamespace("")
		return nil
	}
	switch sub.meta.GetNamespace() {
	case "", q.namespace:
		sub.meta.SetNamespace(q.namespace)
		return nil
	}
	return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
}

// now is the time that goes into objects: they keep whole seconds.
func now() metav1.Time { return metav1.NewTime(time.Now().UTC().Truncate(time.Second)) }

// stampNew sets the metadata that the server owns on an object to be created.
func stampNew(k *storedKind, obj metav1.Object) {
	obj.SetUID(uuid.NewUUID())
	obj.SetCreationTimestamp(now())
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetResourceVersion("")
	obj.SetGeneration(0)
	if k.behaviour.generation {
		obj.SetGeneration(1)
	}
}

func (s *Server) create(q *request) error {
	sub, err := s.submitted(q, q.resource.gvk, &metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := sub.settleNamespace(q); err != nil {
		return err
	}
	if q.resource.custom != nil && sub.meta.GetResourceVersion() != "" {
		return errNewVersion
	}
	if warn := q.resource.stored.behaviour.warnCreate; warn != nil {
		for _, text := range warn(sub.meta) {
			addWarning(q.w, text)
		}
	}
	sub.meta.SetManagedFields(nil) // nobody managed what is new
	obj, err := q.toStored(sub.object)
	if err != nil {
		return err
	}
	if err := q.trackWrite(nil, obj, sub.manager); err != nil {
		return err
	}
	created, err := s.createObject(q, obj, sub.dryRun)
	if err != nil {
		return err
	}
	q.warnFinalizers(created)
	return sub.answer.sendStored(q.w, http.StatusCreated, created)
}

// toStored makes an object of the stored kind, with its defaults, of one of the
// kind that was asked for. They may be the same.
func (q *request) toStored(obj runtime.Object) (runtime.Object, error) {
	if v := q.resource.custom; v != nil {
		return v.toStored(obj)
	}
	kind := q.resource.stored
	stored, err := convert(obj, q.resource.gvk, kind.gvk)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	setDefaults(stored)
	return stored, nil
}

// Generated names are a base, cut to what leaves room, and some letters.
const (
	generatedSuffix = 5
	generatedBase   = 63 - generatedSuffix
	generateTries   = 8
)

// createObject checks an object of the stored kind and stores it.
func (s *Server) createObject(q *request, obj runtime.Object, dryRun bool) (runtime.Object, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	if err := s.admitCreation(q, accessor.GetName()); err != nil {
		return nil, err
	}
	base, generated := accessor.GetGenerateName(), accessor.GetName() == ""
	for try := 1; ; try++ {
		if generated && base != "" {
			accessor.SetName(base[:min(len(base), generatedBase)] + rand.String(generatedSuffix))
		}
		created, err := s.createNamed(q, obj, accessor, dryRun)
		if !apierrors.IsAlreadyExists(err) || !generated || try == generateTries {
			return created, err
		}
	}
}

func (s *Server) createNamed(q *request, obj runtime.Object, accessor metav1.Object, dryRun bool) (runtime.Object, error) {
	kind := q.resource.stored
	stampNew(kind, accessor)
	if q.resource.clearsStatus() {
		clearField(obj, "Status")
	}
	if prepare := kind.behaviour.prepareCreate; prepare != nil {
		prepare(obj)
	}
	if err := validateNew(q.resource, obj, accessor); err != nil {
		return nil, err
	}
	if dryRun {
		_, err := q.objects.get(q.Context(), q.namespace, accessor.GetName())
		if apierrors.IsNotFound(err) {
			return obj, nil
		}
		if err == nil {
			err = apierrors.NewAlreadyExists(kind.resource, accessor.GetName())
		}
		return nil, err
	}
	created, err := q.objects.create(q.Context(), accessor.GetNamespace(), accessor.GetName(), obj)
	if apierrors.IsAlreadyExists(err) {
		return nil, q.objects.explainExists(q.Context(), accessor, err)
	}
	if err != nil {
		return nil, err
	}
	return created, s.written(q, accessor.GetName())
}

// clearsStatus says whether only /status can set the status.
func (r *resource) clearsStatus() bool {
	if r.custom != nil {
		return r.custom.status
	}
	return r.stored.hasStatus && !r.stored.behaviour.keepStatus
}
