package cacher

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

var (
	// ErrOptions: New was given options that cannot work.
	ErrOptions = errors.New("invalid options")
	// ErrClosed: the Cacher was closed.
	ErrClosed = errors.New("cacher closed")
	// ErrShardSelector: a shard selector cannot be read.
	ErrShardSelector = errors.New("invalid shard selector")
	// errWentBack: the store has a lower revision than it had before.
	errWentBack = errors.New("the history of the storage went back")
	// errCallPanicked: a shared call of the store did not return.
	errCallPanicked = errors.New("call panicked")
	// errEncodePanicked: the encode function of Item.Encoded did not return.
	errEncodePanicked = errors.New("encoding panicked")
)

// retryAfterSeconds is what clients are told to wait before they ask again.
const retryAfterSeconds = 1

// tooLarge is the 504 for a resource version that the cache has not reached.
func tooLarge(wanted, current uint64) *apierrors.StatusError {
	err := tooLargeAtOnce(wanted, current)
	err.ErrStatus.Details.RetryAfterSeconds = retryAfterSeconds
	return err
}

// tooLargeAtOnce is the same from the store, which does not wait.
func tooLargeAtOnce(wanted, current uint64) *apierrors.StatusError {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, current), 0)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// isTooLarge recognises both.
func isTooLarge(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// watchTooOld is the 410 for a watch from before the window.
func watchTooOld(wanted, oldest uint64) *apierrors.StatusError {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", wanted, oldest))
}

// listTooOld is the 410 for a list at a forgotten revision.
func listTooOld() *apierrors.StatusError {
	return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
}

// continueTooOld is the 410 for a continue token whose revision was forgotten;
// the token in it goes on at the current state.
func continueTooOld(token string) *apierrors.StatusError {
	err := apierrors.NewResourceExpired("The provided continue parameter is too old " +
		"to display a consistent list result. You can start a new list without " +
		"the continue parameter, or use the continue token in this response to " +
		"retrieve the remainder of the results. Continuing with the provided " +
		"token results in an inconsistent list - objects that were created, " +
		"modified, or deleted between the time the first chunk was returned " +
		"and now may show up in the list.")
	err.ErrStatus.ListMeta.Continue = token
	return err
}

// CauseWatcherTooSlow and CauseResumeFrom are the types of the causes in the
// error that a watcher gets with Options.TellSlow. The message of the second is
// the resource version to resume from; it is missing if the initial events were
// not complete.
const (
	CauseWatcherTooSlow metav1.CauseType = "WatcherTooSlow"
	CauseResumeFrom     metav1.CauseType = "ResumeFromResourceVersion"
)

// tooSlow is the 410 for a watcher that was ended for slowness after delivering
// everything up to a resource version; 0 if there is none to resume from.
func tooSlow(delivered uint64) *apierrors.StatusError {
	text := "the watch was ended because its client is too slow"
	details := &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: CauseWatcherTooSlow, Message: text}}}
	if delivered > 0 {
		rv := strconv.FormatUint(delivered, 10)
		text += "; it can be resumed from resource version " + rv
		details.Causes = append(details.Causes, metav1.StatusCause{Type: CauseResumeFrom, Message: rv, Field: "metadata.resourceVersion"})
	}
	err := apierrors.NewResourceExpired(text)
	err.ErrStatus.Details = details
	return err
}

// tooManyWatches is the 429 for a watch over the limit.
func tooManyWatches(resource schema.GroupResource, open int) *apierrors.StatusError {
	return apierrors.NewTooManyRequests(fmt.Sprintf("%d watches of %s are open already", open, resource), retryAfterSeconds)
}

// notReady is the 429 while the cache has no content.
func notReady(cause error, retryAfter int) *apierrors.StatusError {
	text := "storage is (re)initializing"
	if cause != nil {
		text += ": " + cause.Error()
	}
	return apierrors.NewTooManyRequests(text, retryAfter)
}

// staleRefused is the 429 for a consistent read that may not fall back to the
// store.
func staleRefused(timeout error) *apierrors.StatusError {
	return apierrors.NewTooManyRequests(timeout.Error(), retryAfterSeconds)
}

// wentBack wraps errWentBack.
func wentBack(from, to uint64) error { return fmt.Errorf("%w: from %d to %d", errWentBack, from, to) }

// parseResourceVersion reads a client's resource version; "" is 0.
func parseResourceVersion(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion: Invalid value: %q: %w", text, err)
	}
	return value, nil
}

// badReadVersion is the 400 for an unreadable resource version of a read.
func badReadVersion(err error) *apierrors.StatusError {
	return apierrors.NewBadRequest("invalid resource version: " + err.Error())
}

// badWatchVersion is the 500 without a reason for that of a watch.
func badWatchVersion(err error) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 500, Message: err.Error(),
	}}
}

// contextError says whether err is the end of a context.
func contextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// internal wraps a failure of the store or of decoding into a 500, and leaves
// alone what is a Status already or the end of the caller's context.
func internal(resource schema.GroupResource, err error) error {
	var status *apierrors.StatusError
	switch {
	case errors.As(err, &status), contextError(err):
		return err
	case errors.Is(err, storage.ErrClosed):
		return fmt.Errorf("cacher: %s: %w", resource, err)
	default:
		return apierrors.NewInternalError(fmt.Errorf("%s: %w", resource, err))
	}
}

// badRequest is a 400.
func badRequest(text string) *apierrors.StatusError { return apierrors.NewBadRequest(text) }
