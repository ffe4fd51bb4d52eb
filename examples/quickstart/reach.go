package main

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// hearing notes what a server has answered last, to tell one that is not there
// from one that is something else.
type hearing struct {
	last atomic.Pointer[answer]
}

// answer is the head of a response.
type answer struct {
	status    int
	mediaType string
}

// String is the answer in words.
func (a answer) String() string {
	text := fmt.Sprintf("HTTP %d", a.status)
	if standard := http.StatusText(a.status); standard != "" {
		text += " " + standard
	}
	if a.mediaType != "" {
		text += " with " + printable(a.mediaType)
	}
	return text
}

// over is the configuration whose clients are listened to.
func (h *hearing) over(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return heard{hearing: h, next: next} })
	return config
}

type heard struct {
	hearing *hearing
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (h heard) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := h.next.RoundTrip(request)
	if err == nil {
		mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")) // none if malformed
		h.hearing.last.Store(&answer{response.StatusCode, mediaType})
	}
	return response, err
}

// errNotKubernetes: an answer that no API server gives.
var errNotKubernetes = errors.New("no answer of a Kubernetes API server")

// explain says why the server at host could not be used: it is not there, it
// refuses, or it is another kind of server.
func (h *hearing) explain(kubeconfig, host string, err error) error {
	last := h.last.Load()
	if _, ok := errors.AsType[*url.Error](err); ok || last == nil {
		return fmt.Errorf("cannot reach the cluster at %s: %w; check that it runs and that %s names the right server",
			host, err, kubeconfig)
	}
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status) && (apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err)):
		return fmt.Errorf("the cluster at %s refuses the user: %s: %s; check the user of the context in %s",
			host, *last, oneLine(status.Status().Message), kubeconfig)
	case errors.As(err, &status) && !strings.Contains(last.mediaType, "html"):
		return fmt.Errorf("the server at %s answers %s: %s; check that %s names the right server",
			host, *last, oneLine(status.Status().Message), kubeconfig)
	}
	return fmt.Errorf("the server at %s answers %s, which is %w; check that %s names the right server",
		host, *last, errNotKubernetes, kubeconfig)
}

// oneLine is text of others, such as a message of a server, short and on one
// line.
func oneLine(text string) string {
	const most = 160
	runes := []rune(printable(strings.Join(strings.Fields(text), " ")))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}
