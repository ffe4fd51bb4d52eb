package apiserver

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// patchTypes are the media types of patches, in the order in which they are
// named to who sends another.
var patchTypes = []string{
	string(types.JSONPatchType), string(types.MergePatchType), string(types.StrategicMergePatchType),
	string(types.ApplyYAMLPatchType),
}

// patch is the body of a PATCH request, and what is to be done with it.
type patch struct {
	of         tracking // of what it is a patch; the managed fields are those of it
	mediaType  types.PatchType
	data       []byte
	manager    string
	force      bool
	dryRun     bool
	validation string // value of fieldValidation
	problems   []error
}

// patch answers PATCH of an object and of its /status.
func (s *Server) patch(q *request) error {
	out, p, err := s.readPatch(q, q.tracking())
	if err != nil {
		return err
	}
	answer := newEncoder(q.resource, out)
	defer func() { p.warn(q.w) }()
	obj, code, err := s.carryOut(q, proposal{
		creates: p.mediaType == types.ApplyYAMLPatchType,
		dryRun:  p.dryRun,
		next:    func(live runtime.Object) (runtime.Object, error) { return p.next(q, live) },
	})
	if err != nil {
		return err
	}
	p.warn(q.w)
	q.warnFinalizers(obj)
	return answer.sendStored(q.w, code, obj)
}

// readPatch reads what all PATCH requests have in common.
func (s *Server) readPatch(q *request, of tracking) (output, *patch, error) {
	mediaType, _, _ := strings.Cut(q.Header.Get("Content-Type"), ";")
	p := &patch{of: of, mediaType: types.PatchType(mediaType)}
	switch {
	case of.custom != nil && isStrategic(mediaType):
		return output{}, nil, errCustomPatchType()
	case !p.known():
		return output{}, nil, errPatchType()
	}
	out, err := q.negotiate(objectForms...)
	if err != nil {
		return out, nil, err
	}
	if p.data, err = readBody(q.Request, s.options.BodyLimit); err != nil {
		return out, nil, err
	}
	options := &metav1.PatchOptions{}
	if err := decodeQuery(q.URL.Query(), options); err != nil {
		return out, nil, err
	}
	if errs := metavalidation.ValidatePatchOptions(options, p.mediaType); len(errs) > 0 {
		return out, nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}, "", errs)
	}
	p.manager = options.FieldManager
	if p.mediaType != types.ApplyYAMLPatchType {
		p.manager = managerOf(q, options.FieldManager)
	}
	p.force = options.Force != nil && *options.Force
	p.dryRun = len(options.DryRun) > 0
	p.validation = options.FieldValidation
	return out, p, p.wellFormed()
}

func isStrategic(mediaType string) bool { return mediaType == string(types.StrategicMergePatchType) }

func (p *patch) known() bool {
	for _, t := range patchTypes {
		if string(p.mediaType) == t {
			return true
		}
	}
	return false
}

// errPatchType answers a patch in a format that is not understood.
func errPatchType() error { return errBody(strings.Join(patchTypes, ", ")) }

// next makes of the current state, which is of the stored kind, or of nil the
// state that the patch leads to.
func (p *patch) next(q *request, live runtime.Object) (runtime.Object, error) {
	p.problems = nil
	if live == nil {
		return p.first(q)
	}
	shown, err := q.shown(live)
	if err != nil {
		return nil, err
	}
	if p.mediaType == types.ApplyYAMLPatchType {
		applied, err := p.apply(shown)
		if err != nil {
			return nil, err
		}
		return p.finish(q, applied)
	}
	patched, err := p.patched(shown)
	if err != nil {
		return nil, err
	}
	next, err := p.finish(q, patched)
	if err != nil {
		return nil, err
	}
	return next, q.trackWrite(live, next, p.manager)
}

// first makes an object that does not exist yet.
func (p *patch) first(q *request) (runtime.Object, error) {
	empty, err := p.of.empty()
	if err != nil {
		return nil, err
	}
	applied, err := p.apply(empty)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(applied)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	if uid := accessor.GetUID(); uid != "" {
		return nil, apierrors.NewConflict(q.resource.gvr.GroupResource(), q.name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	return p.finish(q, applied)
}

// finish checks that the patched object is still the one of the path, and makes
// it one of the stored kind.
func (p *patch) finish(q *request, patched runtime.Object) (runtime.Object, error) {
	accessor, err := meta.Accessor(patched)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	sub := submission{object: patched, meta: accessor}
	if err := sub.settleNamespace(q); err != nil {
		return nil, err
	}
	if err := sub.checkName(q); err != nil {
		return nil, err
	}
	dropDuplicateOwners(q.w, accessor)
	return q.toStored(patched)
}

// warn tells the client of what was wrong with the patch but did not fail it.
func (p *patch) warn(w http.ResponseWriter) {
	for _, problem := range p.problems {
		addWarning(w, problem.Error())
	}
	p.problems = nil
}

// check applies the parameter fieldValidation to what is wrong with a patch.
// value is what an error shows.
func (p *patch) check(problems []error, value func() string) error {
	if len(problems) == 0 || p.validation == metav1.FieldValidationIgnore {
		return nil
	}
	if p.validation == metav1.FieldValidationStrict {
		return errPatched(value(), runtime.NewStrictDecodingError(problems))
	}
	p.problems = problems
	return nil
}

// lenient: nobody asked what is wrong.
func (p *patch) lenient() bool { return p.validation == metav1.FieldValidationIgnore }
