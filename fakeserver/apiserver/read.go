package apiserver

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	internalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// decodeQuery reads query parameters into options. A value that does not parse
// is 400 with the parser's text.
func decodeQuery(query url.Values, into runtime.Object) error {
	if err := internalscheme.ParameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// isWatch reads the parameter watch as DecodeParameters does: anything but
// false, in any case, and 0 is true, except absence.
func isWatch(query url.Values) bool {
	if !query.Has("watch") {
		return false
	}
	v := query.Get("watch")
	return !strings.EqualFold(v, "false") && v != "0"
}

// listOptions reads and validates the parameters of list, watch and
// deletecollection.
func (q *request) listOptions() (internalversion.ListOptions, error) {
	var options internalversion.ListOptions
	if err := decodeQuery(q.URL.Query(), &options); err != nil {
		return options, err
	}
	internalversion.SetListOptionsDefaults(&options, true)
	if errs := internalvalidation.ValidateListOptions(&options, true); len(errs) > 0 {
		return options, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	selector, err := q.resource.fieldLabels().selectorFor(options.FieldSelector)
	if err != nil {
		return options, apierrors.NewBadRequest(err.Error())
	}
	options.FieldSelector = selector
	if q.objects.tuning.Sharding && options.ShardSelector != "" {
		if q.shard, err = cacher.ParseShard(options.ShardSelector); err != nil {
			return options, apierrors.NewBadRequest(err.Error())
		}
	}
	if q.watched && q.name != "" {
		return options, q.selectName(&options)
	}
	return options, nil
}

// fieldLabels are the field selectors of the resource.
func (r *resource) fieldLabels() fieldLabels {
	if r.custom != nil {
		return r.custom.labels
	}
	return r.stored.labels
}

// selectName restricts a watch to the object that its path names.
func (q *request) selectName(options *internalversion.ListOptions) error {
	selector := fields.OneTermEqualSelector("metadata.name", q.name)
	if given := options.FieldSelector; given != nil && !given.Empty() {
		if name, ok := requiredName(given); !ok || name != q.name {
			return apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
		}
		selector = given
	}
	options.FieldSelector = selector
	return nil
}

// predicate says which objects a list or watch is about. As on a real server a
// field selector of a namespace is as good as one in the path, and a name without
// any is the key of one object only where there are no namespaces.
func (q *request) predicate(options internalversion.ListOptions) cacher.Predicate {
	p := cacher.Predicate{Labels: options.LabelSelector, Fields: options.FieldSelector, Shard: q.shard}
	p.Namespace = q.namespace
	if options.FieldSelector == nil {
		return p
	}
	if name, ok := requiredName(options.FieldSelector); ok {
		p.Name = name
	}
	if namespace, ok := options.FieldSelector.RequiresExactMatch("metadata.namespace"); ok && p.Namespace == "" &&
		len(utilvalidation.IsDNS1123Label(namespace)) == 0 {
		p.Namespace = namespace
	}
	return p
}

func requiredName(selector fields.Selector) (string, bool) {
	if selector == nil {
		return "", false
	}
	return selector.RequiresExactMatch("metadata.name")
}

// get answers GET of an object, or of its status, which is the same.
func (s *Server) get(q *request) error {
	out, err := q.negotiate(objectForms...)
	if err != nil {
		return err
	}
	var options metav1.GetOptions
	if err := decodeQuery(q.URL.Query(), &options); err != nil {
		return err
	}
	item, err := q.objects.getObject(q.Context(), cacher.Scope{Namespace: q.namespace, Name: q.name}, options.ResourceVersion)
	if err != nil {
		return err
	}
	e := newEncoder(q.resource, out)
	if err := e.checkForm(false); err != nil {
		return err
	}
	return e.sendItem(q.w, item)
}

// checkForm refuses the form of a list for an object and the reverse.
func (e encoder) checkForm(isList bool) error {
	text, kind := "", internalPackage(e.resource.gvk.Group)+"."+e.resource.gvk.Kind
	if e.resource.custom != nil {
		kind = "unstructured.Unstructured"
	}
	switch {
	case isList && e.out.as == partialObject:
		text = fmt.Sprintf("you requested %s, but the requested object is a list (*%sList)", e.out.as, kind)
	case !isList && e.out.as == partialList:
		text = fmt.Sprintf("you requested %s, but the requested object is not a list (*%s)", e.out.as, kind)
	default:
		return nil
	}
	return newStatusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, text)
}

func (s *Server) list(q *request) error {
	out, err := q.negotiate(objectForms...)
	if err != nil {
		return err
	}
	options, err := q.listOptions()
	if err != nil {
		return err
	}
	result, err := q.objects.listObjects(q.Context(), cacher.ListOptions{
		Predicate:       q.predicate(options),
		ResourceVersion: options.ResourceVersion,
		Match:           options.ResourceVersionMatch,
		Limit:           options.Limit,
		Continue:        options.Continue,
	})
	if err != nil {
		return err
	}
	e := newEncoder(q.resource, out)
	if err := e.checkForm(true); err != nil {
		return err
	}
	return e.sendItems(q.w, listMeta(result), result.Items)
}

func listMeta(result cacher.ListResult) metav1.ListMeta {
	return metav1.ListMeta{
		ResourceVersion:    strconv.FormatUint(result.ResourceVersion, 10),
		Continue:           result.Continue,
		RemainingItemCount: result.Remaining,
		ShardInfo:          result.ShardInfo,
	}
}
