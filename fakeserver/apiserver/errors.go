package apiserver

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// ErrOptions is wrapped by the errors of New about its Options.
	ErrOptions = errors.New("apiserver: invalid options")
	// ErrCatalog is wrapped by errors about kinds that cannot be served: a bug
	// of this package, or a clientset that does not fit the scheme.
	ErrCatalog = errors.New("apiserver: resources cannot be determined")
	// ErrCodec is wrapped by errors about objects that cannot be encoded for,
	// or decoded from, the store, or converted between versions.
	ErrCodec = errors.New("apiserver: object cannot be converted")
	// errNewVersion answers a new custom object that has a version already.
	errNewVersion = errors.New("resourceVersion should not be set on objects to be created")
	// ErrClosed is wrapped by what a Server answers after Close.
	ErrClosed = errors.New("apiserver: server is closed")
)

// statusOf makes the Status of any error. An error that is no Status itself
// gets 500 and no reason, as a real server answers.
func statusOf(err error) metav1.Status {
	var status metav1.Status
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		status = known.Status()
	} else {
		status = metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if status.Code == 0 {
		status.Code = http.StatusInternalServerError
	}
	return status
}

func newStatusError(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}

// errNoResource answers a path below a known group that leads nowhere.
func errNoResource() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false)
}

// errMethod answers a method that a known path does not have.
func errMethod() error {
	return apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, "", schema.GroupResource{}, "", "", 0, false)
}

const mediaTypeList = "application/json, application/yaml, application/vnd.kubernetes.protobuf"

// errMediaRange answers an Accept header none of whose types is served.
func errMediaRange() error {
	err := newStatusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"406: Not Acceptable\n\nAvailable representations: "+mediaTypeList)
	err.ErrStatus.Details = &metav1.StatusDetails{}
	return err
}

// errMediaParameters answers an Accept header whose types are served, but not
// with the parameters it asks for.
func errMediaParameters() error {
	return newStatusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: "+mediaTypeList)
}

// errContentType answers a body in a format that is not understood.
func errContentType() error { return errBody(mediaTypeList) }

// errCustomContentType answers a protobuf body of a custom object, which has no such
// form. A real server (v1.37, by its source) finds out while it decodes, which it
// answers with 400 or, if it is to look for unknown fields, with 500; what to send
// instead it says only for formats that it does not know.
func errCustomContentType() error {
	return errBody(formatJSON.String() + ", " + formatYAML.String())
}

// errBody answers a body of another format than those accepted.
func errBody(accepted string) error {
	return newStatusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+accepted)
}

// errStreamType answers a watch in a format that cannot be streamed.
func errStreamType() error {
	return newStatusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch")
}
