package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var pods = schema.GroupResource{Resource: "pods"}

// tooLarge is what a server answers to a version that it does not know yet.
func tooLarge() *apierrors.StatusError {
	err := apierrors.NewTimeoutError("Too large resource version: 9, current: 5", 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// bareStatus is a status with a code and no reason, as proxies make them.
func bareStatus(code int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code}}
}

// refused is what dialling a closed port gives.
func refused() error {
	return &url.Error{Op: "Get", URL: "https://server", Err: &net.OpError{
		Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}
}

func TestErrorsAreSortedByWhatToDoAboutThem(t *testing.T) {
	oldTooLarge := apierrors.NewTimeoutError("Too large resource version: 9, current: 5", 0)
	oldTooLargeCause := apierrors.NewTimeoutError("x", 0)
	oldTooLargeCause.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "Too large resource version"}}
	noDetails := apierrors.NewTimeoutError("x", 0)
	noDetails.ErrStatus.Details = nil
	for _, test := range []struct {
		err  error
		want failureClass
	}{
		{apierrors.NewResourceExpired("too old"), classExpired},
		{&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonGone, Code: 410}}, classExpired},
		{bareStatus(http.StatusGone), classExpired},
		{tooLarge(), classTooLarge},
		{oldTooLarge, classTooLarge},
		{oldTooLargeCause, classTooLarge},
		{noDetails, classBusy},
		{apierrors.NewTimeoutError("slow", 0), classBusy},
		{apierrors.NewTooManyRequests("slow down", 3), classBusy},
		{apierrors.NewServiceUnavailable("starting"), classBusy},
		{apierrors.NewServerTimeout(pods, "list", 2), classBusy},
		{bareStatus(http.StatusBadGateway), classBusy},
		{bareStatus(http.StatusGatewayTimeout), classBusy},
		{bareStatus(http.StatusServiceUnavailable), classBusy},
		{refused(), classBusy},
		{apierrors.NewUnauthorized("who are you"), classDenied},
		{apierrors.NewForbidden(pods, "", errors.New("no")), classDenied},
		{apierrors.NewNotFound(pods, ""), classDenied},
		{apierrors.NewMethodNotSupported(pods, "watch"), classDenied},
		{apierrors.NewBadRequest("what"), classInvalid},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil), classInvalid},
		{bareStatus(http.StatusNotAcceptable), classInvalid},
		{bareStatus(http.StatusUnsupportedMediaType), classInvalid},
		{apierrors.NewInternalError(errors.New("oops")), classServer},
		{bareStatus(0), classServer},
		{&DecodeError{Subject: "list", Err: errors.New("bad")}, classDecode},
		{&DecodeError{Subject: "list", Err: apierrors.NewBadRequest("bad")}, classDecode},
		{io.EOF, classTransport},
		{io.ErrUnexpectedEOF, classTransport},
		{ErrConnectionLost, classTransport},
		{context.DeadlineExceeded, classTransport},
		{fmt.Errorf("%w (5m)", ErrListOverdue), classTransport},
		{fmt.Errorf("%w (1s)", ErrIdle), classSilent},
		{fmt.Errorf("%w (1s)", ErrWatchOverdue), classSilent},
		{fmt.Errorf("%w (1s)", ErrNoInitialEventsEnd), classNoInitialEnd},
	} {
		got := classify(fmt.Errorf("watch: %w", test.err))
		if got.class != test.want {
			t.Errorf("%v: class %d, want %d", test.err, got.class, test.want)
		}
		if !errors.Is(got.err, test.err) {
			t.Errorf("%v is lost in %v", test.err, got.err)
		}
	}
}

func TestAFailureTellsCodeReasonAndWhenToRetry(t *testing.T) {
	got := classify(apierrors.NewTooManyRequests("slow down", 7))
	if got.code != 429 || got.reason != metav1.StatusReasonTooManyRequests || got.retryAfter != 7*time.Second {
		t.Errorf("got %+v", got)
	}
	for _, seconds := range []int{300, 301, 86_400, 1 << 30} {
		if got := classify(apierrors.NewTooManyRequests("go away", seconds)).retryAfter; got != 5*time.Minute {
			t.Errorf("asked to wait %d s: %v", seconds, got)
		}
	}
	if got := classify(apierrors.NewTooManyRequests("", -5)).retryAfter; got != 0 {
		t.Errorf("asked to wait less than nothing: %v", got)
	}
	if got := classify(refused()); got.code != 0 || got.reason != "" || got.retryAfter != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestOptionsAreValidated(t *testing.T) {
	if _, err := (Options{}).complete(); err != nil {
		t.Errorf("zero options: %v", err)
	}
	if got, err := (Backoff{Base: time.Hour}).complete(); err != nil || got.Cap != time.Hour {
		t.Errorf("a base above the default cap: %+v, %v", got, err)
	}
	nan := 0.0
	nan /= nan
	for _, options := range []Options{
		{PageSize: -1}, {NotOlderThan: "0"}, {NotOlderThan: "x"}, {ListTimeout: -1}, {IdleTimeout: -1}, {IdleTimeout: time.Millisecond}, {WatchTimeout: time.Millisecond}, {WatchTimeout: -time.Hour},
		{WatchListTimeout: -1}, {WatchListAvoided: -1},
		{Backoff: Backoff{Base: -1}}, {Backoff: Backoff{Cap: -1}}, {Backoff: Backoff{HealthyAfter: -1}},
		{Backoff: Backoff{Factor: 0.5}}, {Backoff: Backoff{Factor: nan}}, {Backoff: Backoff{Jitter: nan}},
		{Backoff: Backoff{Base: time.Minute, Cap: time.Second}},
	} {
		if _, err := New[*object](&scripted{}, &recorder{}, options); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("%+v: %v", options, err)
		}
	}
	if _, err := New[*object](nil, &recorder{}, Options{}); !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("no source: %v", err)
	}
	if _, err := New[*object](&scripted{}, nil, Options{}); !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("no sink: %v", err)
	}
}

func TestPhasesHaveNames(t *testing.T) {
	for phase := Initial; phase <= Stopped; phase++ {
		if phase.String() == "" || phase.String() == "unknown" {
			t.Errorf("phase %d is %q", phase, phase)
		}
	}
	if got := Phase(99).String(); got != "unknown" {
		t.Errorf("phase 99 is %q", got)
	}
}
