package apiserver

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
)

var (
	strictJSONCodec = jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, kinds,
		kinds, jsonserializer.SerializerOptions{Strict: true})
	strictYAMLCodec = jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, kinds,
		kinds, jsonserializer.SerializerOptions{Yaml: true, Strict: true})
)

// readBody reads at most limit bytes.
func readBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, err // the request's time is over
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("read the body: %v", err))
	}
	if int64(len(data)) > limit {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", limit))
	}
	return data, nil
}

// decodeBody decodes an object that must be of kind want. problems are unknown
// and duplicate fields, which do not fail it.
func decodeBody(data []byte, f format, want schema.GroupVersionKind) (obj runtime.Object, problems []error, err error) {
	obj, problems, got, err := decodeKind(data, f, want)
	if err != nil {
		return nil, nil, decodeError(err, got, want, data)
	}
	return obj, problems, nil
}

// decodeBody is the function of that name for objects of kind want, which custom
// ones may be.
func (q *request) decodeBody(data []byte, f format, want schema.GroupVersionKind) (runtime.Object, []error, error) {
	v := q.resource.custom
	if v == nil || want != v.gvk {
		return decodeBody(data, f, want)
	}
	obj, problems, got, err := v.decode(data, f)
	switch {
	case err != nil:
		return nil, nil, decodeError(err, got, want, data)
	case got.GroupVersion() != want.GroupVersion():
		return nil, nil, errVersion(got.GroupVersion(), want.GroupVersion())
	}
	return obj, problems, nil
}

// decodeKind is decodeBody with the plain error, and with the kind that was
// found if there was one.
func decodeKind(data []byte, f format, want schema.GroupVersionKind) (
	obj runtime.Object, problems []error, got *schema.GroupVersionKind, err error) {
	codec := runtime.Decoder(strictJSONCodec)
	switch f {
	case formatYAML:
		codec = strictYAMLCodec
	case formatProtobuf:
		codec = protobufCodec
	}
	obj, got, err = codec.Decode(data, &want, nil)
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil {
		problems, err = strict.Errors(), nil
	}
	if err == nil && *got != want {
		err = fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion",
			goPackage(got.Version), got.Kind, internalPackage(want.Group), want.Kind)
	}
	return obj, problems, got, err
}

// goPackage is the package that has the types of a version.
func goPackage(version string) string { return version }

// internalPackage is the package in which a real server has its own types of a
// group; error texts name it.
func internalPackage(group string) string {
	switch group {
	case "", "events.k8s.io":
		return "core"
	case "internal.apiserver.k8s.io":
		return "apiserverinternal"
	}
	name, _, _ := strings.Cut(group, ".")
	return name
}

func decodeError(err error, got *schema.GroupVersionKind, want schema.GroupVersionKind, data []byte) error {
	if got == nil || got.Empty() || isInterpretError(err) {
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)",
			want.Kind, err, summary(data)))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v",
		got.Kind, got.Version, want.Kind, err))
}

// isInterpretError: not even the kind could be read.
func isInterpretError(err error) bool {
	return strings.HasPrefix(err.Error(), "couldn't get version/kind") || runtime.IsMissingKind(err)
}

// summary shows the beginning of a body: as text if it may be JSON.
func summary(data []byte) string {
	const most = 30
	switch {
	case len(data) == 0:
		return "<empty>"
	case data[0] == '{' && len(data) > most:
		return string(data[:most]) + " ..."
	case data[0] == '{':
		return string(data)
	case len(data) > most:
		return hex.EncodeToString(data[:most]) + " ..."
	}
	return hex.EncodeToString(data)
}

// checkFields applies the query parameter fieldValidation to the problems that
// decodeBody found: an error, warnings in the header, or nothing.
func checkFields(w http.ResponseWriter, validation string, kind schema.GroupVersionKind, problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	switch validation {
	case "Ignore":
		return nil
	case "Strict":
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v",
			kind.Kind, kind.Version, kind.Kind, runtime.NewStrictDecodingError(problems)))
	}
	for _, p := range problems {
		addWarning(w, p.Error())
	}
	return nil
}

func addWarning(w http.ResponseWriter, text string) {
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ", "\r", " ").Replace(text)
	w.Header().Add("Warning", `299 - "`+escaped+`"`)
}
