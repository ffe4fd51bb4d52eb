package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// maxPatchOperations is the length of the longest JSON patch that is accepted.
const maxPatchOperations = 10000

// wellFormed checks what can be checked before the object is known.
func (p *patch) wellFormed() error {
	if p.mediaType == types.ApplyYAMLPatchType {
		if _, err := yamlutil.ToJSON(p.data); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
		}
		return nil
	}
	if !json.Valid(p.data) {
		return apierrors.NewBadRequest("invalid JSON patch")
	}
	return nil
}

// errPatched answers a patch that leads to something that is no object.
func errPatched(value string, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), value, err.Error())})
}

// errPatchRefused answers a patch that does not fit the object. The recorded
// server does not say why.
func errPatchRefused(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

// patched returns a new object: live, which is of the kind that the patch is
// for, with the patch applied.
func (p *patch) patched(live runtime.Object) (runtime.Object, error) {
	if p.mediaType == types.StrategicMergePatchType {
		return p.mergeStrategically(live)
	}
	before, err := json.Marshal(live)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	var after []byte
	var problems []error
	if p.mediaType == types.JSONPatchType {
		after, problems, err = p.operate(before)
	} else {
		after, problems, err = p.mergeJSON(before)
	}
	if err != nil {
		return nil, err
	}
	obj, unknown, _, err := p.of.decode(after, formatJSON)
	if err != nil {
		return nil, errPatched(string(after), err)
	}
	return obj, p.check(append(problems, unknown...), func() string { return string(after) })
}

// jsonPatchOp is what an operation of a JSON patch may consist of.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// operate applies a JSON patch.
func (p *patch) operate(doc []byte) (patched []byte, problems []error, err error) {
	if !p.lenient() {
		var operations []jsonPatchOp
		if problems, err = kjson.UnmarshalStrict(p.data, &operations); err != nil {
			// Recorded: the type is called by where a real server has it.
			text := strings.ReplaceAll(err.Error(), "apiserver.jsonPatchOp", "handlers.jsonPatchOp")
			return nil, nil, apierrors.NewBadRequest("error decoding patch: " + text)
		}
		for i, problem := range problems {
			problems[i] = fmt.Errorf("json patch %w", problem)
		}
	}
	decoded, err := jsonpatch.DecodePatch(p.data)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if len(decoded) > maxPatchOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, len(decoded)))
	}
	patched, err = decoded.Apply(doc)
	if err != nil {
		return nil, nil, errPatchRefused(err)
	}
	return patched, problems, nil
}

// mergeJSON applies a JSON merge patch.
func (p *patch) mergeJSON(doc []byte) (patched []byte, problems []error, err error) {
	if !p.lenient() {
		members := map[string]any{}
		if problems, err = kjson.UnmarshalStrict(p.data, &members); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
	}
	patched, err = jsonpatch.MergePatch(doc, p.data)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	return patched, problems, err
}

// mergeStrategically applies a strategic merge patch, which knows of lists by
// what their elements are told apart.
func (p *patch) mergeStrategically(live runtime.Object) (runtime.Object, error) {
	members := map[string]any{}
	var problems []error
	var err error
	if p.lenient() {
		err = kjson.UnmarshalCaseSensitivePreserveInts(p.data, &members)
	} else {
		problems, err = kjson.UnmarshalStrict(p.data, &members)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	doc, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	next, err := newObject(p.of.kind)
	if err != nil {
		return nil, err
	}
	merged, err := mergeMaps(doc, members, next)
	if err != nil {
		return nil, errStrategic(err)
	}
	value := func() string { return fmt.Sprintf("%+v", members) }
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(merged, next, !p.lenient())
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		problems, err = append(problems, strict.Errors()...), nil
	}
	if err != nil {
		return nil, errPatched(value(), err)
	}
	return next, p.check(problems, value)
}

// mergeMaps turns panics into errors: the library does not expect every
// malformed directive, for example objects in $retainKeys.
func mergeMaps(doc, patch map[string]any, schema runtime.Object) (merged map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = apierrors.NewBadRequest(fmt.Sprintf("malformed strategic merge patch: %v", p))
		}
	}()
	return strategicpatch.StrategicMergeMapPatch(doc, patch, schema)
}

// errStrategic tells patches that are malformed from those that do not fit.
func errStrategic(err error) error {
	for _, malformed := range []error{
		mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat,
	} {
		if errors.Is(err, malformed) {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	if errors.Is(err, mergepatch.ErrNoListOfLists) || errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys) {
		return errPatchRefused(err)
	}
	return err
}

// apply is server-side apply: it returns a new object, live with what the patch
// wants and without what its manager no longer does.
func (p *patch) apply(live runtime.Object) (runtime.Object, error) {
	wanted := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal(p.data, &wanted.Object); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	tracker, err := trackerFor(p.of)
	if err != nil {
		return nil, err
	}
	applied, err := tracker.Apply(live, wanted, p.manager, p.force)
	if err != nil || p.lenient() {
		return applied, err
	}
	if err := yaml.UnmarshalStrict(p.data, &map[string]any{}); err != nil {
		if p.validation == metav1.FieldValidationStrict {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
		}
		p.problems = append(p.problems, err)
	}
	return applied, nil
}
