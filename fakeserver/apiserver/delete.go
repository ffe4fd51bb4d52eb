package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// deleteOptions reads the body, or if there is none the query.
func (s *Server) deleteOptions(q *request) (*metav1.DeleteOptions, error) {
	data, err := readBody(q.Request, s.options.BodyLimit)
	if err != nil {
		return nil, err
	}
	options := &metav1.DeleteOptions{}
	if len(data) > 0 {
		f, err := bodyFormat(q.Header.Get("Content-Type"))
		if err != nil {
			return nil, err
		}
		if options, err = decodeDeleteOptions(data, f); err != nil {
			return nil, err
		}
	} else if err := decodeQuery(q.URL.Query(), options); err != nil {
		return nil, err
	}
	if errs := metavalidation.ValidateDeleteOptions(options); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	return options, nil
}

// decodeDeleteOptions accepts the kind under any group and version, as a real server
// does: clients name core v1, which is the default, meta.k8s.io, or what they delete.
func decodeDeleteOptions(data []byte, f format) (*metav1.DeleteOptions, error) {
	codecs, want := metainternal.Codecs, schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), f.String()) // has all formats
	options := &metav1.DeleteOptions{}
	obj, _, err := codecs.DecoderToVersion(info.Serializer, want.GroupVersion()).Decode(data, &want, options)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if obj != options {
		return nil, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	return options, nil
}

func (s *Server) delete(q *request) error {
	out, err := q.negotiate(objectForms...)
	if err != nil {
		return err
	}
	options, err := s.deleteOptions(q)
	if err != nil {
		return err
	}
	if warning := q.resource.stored.behaviour.warnDelete; warning != "" && options.PropagationPolicy == nil && orphans(options) == nil {
		addWarning(q.w, warning)
	}
	result, err := s.remove(q, q.namespace, q.name, options)
	if err != nil {
		return err
	}
	if result.remove && !q.resource.stored.behaviour.returnsDeleted {
		return q.sendDeleted(out, result.object)
	}
	code := http.StatusOK
	if orphan := orphans(options); !result.remove && orphan != nil && !*orphan {
		code = http.StatusAccepted
	}
	return newEncoder(q.resource, out).sendStored(q.w, code, result.object)
}

func (q *request) sendDeleted(out output, obj runtime.Object) error {
	accessor, _, err := accessors(obj, obj)
	if err != nil {
		return err
	}
	gr := q.resource.gvr.GroupResource()
	return sendObject(q.w, out, http.StatusOK, statusKind, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details:  &metav1.StatusDetails{Name: accessor.GetName(), Group: gr.Group, Kind: gr.Resource, UID: accessor.GetUID()},
	})
}

// remove deletes one object, or marks it for deletion if something still has to
// happen before it goes. One whose kind leaves time is first seen to have none
// left, so that watchers get both events.
func (s *Server) remove(q *request, namespace, name string, options *metav1.DeleteOptions) (outcome, error) {
	kind := q.resource.stored
	preconditions := options.Preconditions
	for {
		again := false
		result, err := q.objects.change(q.Context(), namespace, name, func(current record) (outcome, error) {
			next := current.object.DeepCopyObject()
			obj, old, err := accessors(next, current.object)
			if err != nil {
				return outcome{}, err
			}
			if err := checkPreconditions(kind, obj, preconditions); err != nil {
				return outcome{}, err
			}
			result := outcome{object: next, remove: markDeleted(kind, next, obj, options)}
			if len(options.DryRun) > 0 {
				return result, errUnchanged
			}
			left := old.GetDeletionGracePeriodSeconds()
			graceful := kind.behaviour.gracePeriod != nil && old.GetDeletionTimestamp() == nil
			if again = result.remove && (graceful || left != nil && *left > 0); again {
				result.remove = false
			}
			return result, nil
		})
		if err == nil && !again && len(options.DryRun) == 0 {
			err = s.written(q, name)
		}
		if err != nil || !again {
			return result, err
		}
		preconditions = nil // they held; the version is another now
	}
}

func checkPreconditions(k *storedKind, obj metav1.Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	gr := schema.GroupResource{Group: k.gvk.Group, Resource: k.gvk.Kind} // the kind: recorded so
	if p.UID != nil && *p.UID != obj.GetUID() {
		return apierrors.NewConflict(gr, obj.GetName(), fmt.Errorf("the UID in the precondition (%s) does not match "+
			"the UID in record (%s). The object might have been deleted and then recreated", *p.UID, obj.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != obj.GetResourceVersion() {
		return apierrors.NewConflict(gr, obj.GetName(), fmt.Errorf("the ResourceVersion in the precondition (%s) does not "+
			"match the ResourceVersion in record (%s). The object might have been modified",
			*p.ResourceVersion, obj.GetResourceVersion()))
	}
	return nil
}

// markDeleted makes the state that a deletion leads to, and reports whether
// nothing keeps the object any longer.
func markDeleted(k *storedKind, next runtime.Object, obj metav1.Object, options *metav1.DeleteOptions) bool {
	finalizers := propagationFinalizers(obj.GetFinalizers(), options, k.behaviour.orphans)
	if !equality.Semantic.DeepEqual(finalizers, obj.GetFinalizers()) {
		obj.SetFinalizers(finalizers)
	}
	if ns, ok := next.(*corev1.Namespace); ok && ns.DeletionTimestamp == nil {
		markTime(obj, 0)
		obj.SetDeletionGracePeriodSeconds(nil) // recorded: namespaces have none
		ns.Status.Phase = corev1.NamespaceTerminating
	}
	if d, ok := next.(*apiextensionsv1.CustomResourceDefinition); ok {
		return markDefinition(d)
	}
	waits := len(finalizers) > 0 || len(specFinalizers(next)) > 0
	if period := k.behaviour.gracePeriod; period != nil {
		shortenGrace(obj, period(next, options))
		waits = waits || *obj.GetDeletionGracePeriodSeconds() > 0
	} else if waits && obj.GetDeletionTimestamp() == nil {
		markTime(obj, 0)
	}
	return !waits
}

// shortenGrace starts the time that an object has left, or shortens it.
func shortenGrace(obj metav1.Object, seconds int64) {
	if obj.GetDeletionTimestamp() == nil {
		markTime(obj, seconds)
		return
	}
	left := obj.GetDeletionGracePeriodSeconds()
	switch {
	case left == nil:
		obj.SetDeletionGracePeriodSeconds(&seconds)
	case seconds < *left:
		at := metav1.NewTime(obj.GetDeletionTimestamp().Add(time.Duration(seconds-*left) * time.Second))
		obj.SetDeletionTimestamp(&at)
		obj.SetDeletionGracePeriodSeconds(&seconds)
	}
}

func markTime(obj metav1.Object, seconds int64) {
	at := metav1.NewTime(now().Add(time.Duration(seconds) * time.Second))
	obj.SetDeletionTimestamp(&at)
	obj.SetDeletionGracePeriodSeconds(&seconds)
	if obj.GetGeneration() > 0 {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
}

// orphans is the old way to name a policy.
func orphans(options *metav1.DeleteOptions) *bool {
	//lint:ignore SA1019 clients still send it
	return options.OrphanDependents
}

// propagationFinalizers are the finalizers of an object whose deletion is asked
// for with options. orphanByDefault is what happens if neither they nor the object say.
func propagationFinalizers(have []string, options *metav1.DeleteOptions, orphanByDefault bool) []string {
	policy := options.PropagationPolicy
	if orphan := orphans(options); policy == nil && orphan != nil {
		chosen := metav1.DeletePropagationBackground
		if *orphan {
			chosen = metav1.DeletePropagationOrphan
		}
		policy = &chosen
	}
	if policy == nil {
		decided := slices.Contains(have, metav1.FinalizerOrphanDependents) ||
			slices.Contains(have, metav1.FinalizerDeleteDependents)
		if decided || !orphanByDefault {
			return have
		}
		policy = new(metav1.DeletePropagationOrphan)
	}
	other := without(have, metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents)
	wanted := ""
	switch *policy {
	case metav1.DeletePropagationForeground:
		wanted = metav1.FinalizerDeleteDependents
	case metav1.DeletePropagationOrphan:
		wanted = metav1.FinalizerOrphanDependents
	default:
		return other
	}
	if slices.Contains(have, wanted) {
		return have
	}
	return append(other, wanted)
}

// deleteCollection deletes what a list finds, and answers with that list. An
// object that goes away meanwhile is none the less deleted.
func (s *Server) deleteCollection(q *request) error {
	out, err := q.negotiate(objectForms...)
	if err != nil {
		return err
	}
	listed, err := q.listOptions()
	if err != nil {
		return err
	}
	options, err := s.deleteOptions(q)
	if err != nil {
		return err
	}
	reader, err := q.objects.reader(q.Context())
	if err != nil {
		return err
	}
	result, err := reader.List(q.Context(), cacher.ListOptions{
		Predicate: q.predicate(listed), ResourceVersion: listed.ResourceVersion, Match: listed.ResourceVersionMatch,
		Limit: listed.Limit, Continue: listed.Continue,
	})
	if err != nil {
		return err
	}
	e := newEncoder(q.resource, out)
	for _, item := range result.Items {
		obj, _, err := accessors(item.Object, item.Object)
		if err != nil {
			return err
		}
		if _, err := s.remove(q, obj.GetNamespace(), obj.GetName(), options); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return e.sendItems(q.w, metav1.ListMeta{ResourceVersion: strconv.FormatUint(result.ResourceVersion, 10)}, result.Items)
}
