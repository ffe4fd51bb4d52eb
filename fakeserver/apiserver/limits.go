package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// limits bound what a Server does at a time.
type limits struct {
	reading, mutating atomic.Int64 // requests that are being answered
}

// isLongRunning says whether a request is taken for a watch, which may take as
// long as it wants.
func isLongRunning(r *http.Request, t target) bool {
	return t.watched || t.kind == targetResource && t.name == "" && r.Method == http.MethodGet && isWatch(r.URL.Query())
}

// admit lets a request in, or answers it with 429. done is to be called when the
// request was answered.
func (s *Server) admit(w *trackingWriter, r *http.Request) (done func(), ok bool) {
	count, most, kind := &s.limits.reading, s.options.MaxInFlight, "readOnly"
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		count, most, kind = &s.limits.mutating, s.options.MaxMutatingInFlight, "mutating"
	}
	now := count.Add(1)
	gauge := s.metrics.inFlight.WithLabelValues(kind)
	gauge.Inc()
	done = func() {
		count.Add(-1)
		gauge.Dec()
	}
	if most <= 0 || now <= int64(most) {
		return done, true
	}
	done()
	s.metrics.terminations.WithLabelValues(append(requestLabelsOf(nil, methodLabel(r.Method)), "429")...).Inc()
	w.Header().Set("Retry-After", "1")
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
	return nil, false
}

// requestTimeout is how long a request may take: what it asks for, at most what
// the server allows.
func (s *Server) requestTimeout(r *http.Request) (time.Duration, error) {
	most := s.options.RequestTimeout
	text := r.URL.Query().Get("timeout")
	if text == "" {
		return most, nil
	}
	asked, err := time.ParseDuration(text)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %v", err))
	}
	if asked == 0 {
		return most, nil
	}
	return min(asked, most), nil
}

// timedOut translates the end of a request's time.
func timedOut(ctx context.Context, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) || // of reading the body, which ends later
		ctx.Err() == context.DeadlineExceeded && strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
		return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
	}
	return err
}
