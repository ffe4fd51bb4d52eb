package reflector

import (
	"errors"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// maxRetryAfter is the longest time that a server may ask to be left alone. More
// is taken for a mistake: overloaded servers ask for seconds.
const maxRetryAfter = 5 * time.Minute

// failureClass sorts the ends of requests and streams by what to do about them.
type failureClass uint8

const (
	// classServer is a status that tells neither a passing nor a lasting
	// cause, such as 500.
	classServer failureClass = iota
	// classExpired is 410: what came after the resourceVersion is forgotten.
	classExpired
	// classTooLarge: the server does not know the resourceVersion yet.
	classTooLarge
	// classBusy passes by itself: 429, 503, 504, a refused connection.
	classBusy
	// classDenied lasts until somebody acts: 401, 403, 404, 405.
	classDenied
	// classInvalid is a request that this server does not understand: 400,
	// 406, 415, 422.
	classInvalid
	// classTransport is a broken connection, or one that cannot be made.
	classTransport
	// classDecode is a frame or list that cannot be read.
	classDecode
	// classEnded is the orderly end of a stream.
	classEnded
	// classSilent: our own patience with a stream ended.
	classSilent
	// classNoInitialEnd: our patience with a watch-list's initial events ended.
	classNoInitialEnd
	// classRewound: the server was asked, and its history went back.
	classRewound
)

// refusesVersion: the request was fine but for its resourceVersion.
func (c failureClass) refusesVersion() bool { return c == classExpired || c == classTooLarge }

// answered: the server is there, is well, and does not want this request.
func (c failureClass) answered() bool {
	return c.refusesVersion() || c == classDenied || c == classInvalid
}

// throttled: the server is there, and says that it has too much to do.
func (f failure) throttled() bool {
	return f.code == http.StatusTooManyRequests || f.reason == metav1.StatusReasonTooManyRequests
}

// failure is the end of a request or stream.
type failure struct {
	class      failureClass
	err        error
	code       int // HTTP status, zero if it was not the server's
	reason     metav1.StatusReason
	absent     bool          // a 404, and the resource is to be taken for gone
	retryAfter time.Duration // at least so long the server wants to be left alone
}

// classify sorts an error of Source or Stream. io.EOF is a broken connection
// here: that it is an orderly end is known only where a stream was read.
func classify(err error) failure {
	f := failure{class: classTransport, err: err}
	var decode *DecodeError
	if errors.As(err, &decode) {
		f.class = classDecode
		return f
	}
	switch {
	case errors.Is(err, ErrIdle), errors.Is(err, ErrWatchOverdue):
		f.class = classSilent
		return f
	case errors.Is(err, ErrNoInitialEventsEnd):
		f.class = classNoInitialEnd
		return f
	case errors.Is(err, ErrRewound):
		f.class = classRewound
		return f
	case utilnet.IsConnectionRefused(err):
		f.class = classBusy
		return f
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return f
	}
	f.code, f.reason = int(status.Status().Code), status.Status().Reason
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		f.retryAfter = time.Duration(max(0, min(seconds, int(maxRetryAfter/time.Second)))) * time.Second
	}
	f.class = classifyStatus(err, f.code)
	return f
}

// classifyStatus sorts an error that carries a Status. Reasons count more than
// codes, which some proxies change.
func classifyStatus(err error, code int) failureClass {
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		return classExpired
	case isTooLarge(err):
		return classTooLarge
	case apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err),
		apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return classBusy
	}
	switch code {
	case http.StatusGone:
		return classExpired
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusBadGateway:
		return classBusy
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
		return classDenied
	case http.StatusBadRequest, http.StatusNotAcceptable, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return classInvalid
	}
	return classServer
}

// tooLargeText is how servers before 1.19 put it, as a message or as the
// message of a cause.
const tooLargeText = "Too large resource version"

// isTooLarge recognises a resourceVersion that the server does not know yet.
func isTooLarge(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	var carrier apierrors.APIStatus
	if !apierrors.IsTimeout(err) || !errors.As(err, &carrier) {
		return false
	}
	status := carrier.Status()
	if strings.Contains(status.Message, tooLargeText) {
		return true
	}
	if status.Details == nil {
		return false
	}
	for _, cause := range status.Details.Causes {
		if cause.Message == tooLargeText {
			return true
		}
	}
	return false
}
