package differential

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// answer is how the server departs from its nature for some requests.
//
// bubble: it waits in those of both sides.
type answer struct {
	request   string // list, page, watch or watch-list
	text      string // as the script has it
	failure   string // word of a failure, see failureOf; "" to succeed
	delay     time.Duration
	hang      bool // never answer
	flags     map[string]bool
	version   string // of a list, instead of the true one
	ends      time.Duration
	error     string // word of the failure that comes as the first event
	retry     time.Duration
	left      int // how often it is yet to be given
	unlimited bool
	used      int
}

// answerFlags are the words of answers without a value.
//
//	silent     a stream that carries nothing, ever
//	no-end     a watch-list without the bookmark that ends its initial events
//	broken     what client-go's rest client returns for a connection that broke
//	           before the answer
//	nil        nothing at all
//	table      a Table
//	wrong-type a Secret, or a list of Secrets
var answerFlags = []string{"silent", "no-end", "broken", "nil", "table", "wrong-type"}

// parseAnswer reads "answer KIND WORD...".
func parseAnswer(words []string) (*answer, error) {
	a := &answer{text: strings.Join(words, " "), left: 1, flags: map[string]bool{}, ends: -1}
	if len(words) < 2 {
		return nil, fmt.Errorf("answer what with what?")
	}
	switch a.request = words[0]; a.request {
	case "list", "page", "watch", "watch-list":
	default:
		return nil, fmt.Errorf("no request is called %q", a.request)
	}
	for _, word := range words[1:] {
		if err := a.add(word); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// add takes one word of an answer in.
func (a *answer) add(word string) error {
	name, value, valued := strings.Cut(word, "=")
	var err error
	switch {
	case contains(answerFlags, word):
		a.flags[word] = true
	case word == "always":
		a.unlimited = true
	case strings.HasPrefix(word, "x"):
		a.left, err = strconv.Atoi(word[1:])
	case word == "hang":
		a.hang = true
	case name == "after":
		a.delay, err = time.ParseDuration(value)
	case name == "retry-after":
		a.retry, err = time.ParseDuration(value)
	case name == "ends" && !valued:
		a.ends = 0
	case name == "ends":
		a.ends, err = time.ParseDuration(value)
	case name == "version":
		a.version = value
	case name == "error":
		a.error = value
		_, err = failureOf(value, 0)
	default:
		a.failure = word
		_, err = failureOf(word, 0)
	}
	return err
}

func contains(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

// resource is what the scripts' collection is called.
var resource = schema.GroupResource{Resource: "configmaps"}

// failureOf makes the error that a word of a script stands for.
func failureOf(word string, retryAfter time.Duration) (error, error) {
	seconds := int(retryAfter / time.Second)
	switch word {
	case "410":
		return apierrors.NewResourceExpired("too old resource version"), nil
	case "gone":
		//lint:ignore SA1019 old servers use it
		return apierrors.NewGone("gone"), nil
	case "too-large":
		return tooLarge("the server does not know that version", metav1.StatusCause{
			Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}), nil
	case "too-large-1.16":
		return tooLarge("Too large resource version: 9, current: 5"), nil
	case "429":
		return apierrors.NewTooManyRequests("busy", seconds), nil
	case "500":
		return apierrors.NewInternalError(fmt.Errorf("broken")), nil
	case "502", "415":
		code, _ := strconv.Atoi(word)
		return apierrors.NewGenericServerResponse(code, "get", resource, "", "", seconds, false), nil
	case "503":
		failure := apierrors.NewServiceUnavailable("starting")
		failure.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(seconds)}
		return failure, nil
	case "504":
		return apierrors.NewTimeoutError("slow", seconds), nil
	case "400":
		return apierrors.NewBadRequest("no"), nil
	case "401":
		return apierrors.NewUnauthorized("who?"), nil
	case "403":
		return apierrors.NewForbidden(resource, "", fmt.Errorf("no")), nil
	case "404":
		return apierrors.NewNotFound(resource, ""), nil
	case "422":
		return apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil), nil
	case "refused":
		return transport(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}), nil
	case "reset":
		return transport(io.ErrUnexpectedEOF), nil
	case "undecodable":
		return fmt.Errorf("unable to decode an event from the watch stream: %w", io.ErrUnexpectedEOF), nil
	}
	return nil, fmt.Errorf("no failure is called %q", word)
}

// tooLarge is the 504 of a server that does not know a version yet.
func tooLarge(message string, causes ...metav1.StatusCause) error {
	failure := apierrors.NewTimeoutError(message, 1)
	failure.ErrStatus.Details.Causes = causes
	return failure
}

// transport is a failure below HTTP, as net/http reports it.
func transport(err error) error { return &url.Error{Op: "Get", URL: "https://server", Err: err} }

// errorObject is the object of the ERROR event that a word stands for.
func errorObject(word string, retryAfter time.Duration) runtime.Object {
	err, _ := failureOf(word, retryAfter)
	if status, ok := err.(apierrors.APIStatus); ok {
		s := status.Status()
		return &s
	}
	return apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET", "ClientWatchDecoding").AsObject(err)
}
