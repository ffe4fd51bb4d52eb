package informer

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/listwatch/listwatch/reflector"
)

// Denial is an answer that does not change by itself: somebody must hand out
// credentials (401) or permissions (403), or install what is asked for (404).
type Denial struct {
	// HTTPStatus is 401, 403 or 404.
	HTTPStatus int
	// Verb is what was tried, as RBAC calls it: "list" or "watch". A watch-list
	// is a "watch".
	Verb string
	// Collection is what was asked for: what the source says, with what the
	// server's answer tells of the rest.
	Collection reflector.Collection
}

// denialOf finds the denial that a reflector is stuck at. One that was followed
// by a sign of life, or by another failure, is history.
func denialOf(s reflector.Status, collection reflector.Collection) (Denial, bool) {
	if s.Tries == 0 {
		return Denial{}, false
	}
	switch s.HTTPStatus {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
	default:
		return Denial{}, false
	}
	d := Denial{HTTPStatus: s.HTTPStatus, Verb: s.LastVerb, Collection: collection}
	var carrier apierrors.APIStatus
	if d.Collection.Resource == "" && errors.As(s.LastError, &carrier) {
		// For a request of a collection, Kind is the resource.
		if details := carrier.Status().Details; details != nil {
			d.Collection.Group, d.Collection.Resource = details.Group, details.Kind
		}
	}
	return d, true
}

// String says what is missing, in terms of who can mend it.
func (d Denial) String() string {
	switch d.HTTPStatus {
	case http.StatusUnauthorized:
		return "authentication is missing: the server does not accept the client's credentials"
	case http.StatusForbidden:
		return fmt.Sprintf("permission is missing (RBAC): verb %q on %s %s", d.Verb, d.resource(), d.scope())
	default:
		return fmt.Sprintf("%s is absent from the server: its CustomResourceDefinition is not installed, "+
			"or the server does not serve this group and version", d.resource())
	}
}

func (d Denial) resource() string {
	c := d.Collection
	if c.Resource == "" {
		return "the informer's resource"
	}
	text := fmt.Sprintf("resource %q in API group %q", c.Resource, c.Group)
	if d.HTTPStatus == http.StatusNotFound && c.Version != "" {
		text += fmt.Sprintf(" version %q", c.Version) // RBAC knows no versions
	}
	return text
}

func (d Denial) scope() string {
	if d.Collection.Namespace != "" {
		return fmt.Sprintf("in namespace %q", d.Collection.Namespace)
	}
	return "at the cluster scope"
}

// describe writes an error with its HTTP status and reason.
func describe(err error) string {
	var carrier apierrors.APIStatus
	if !errors.As(err, &carrier) {
		return err.Error()
	}
	status := carrier.Status()
	text := fmt.Sprintf("HTTP %d", status.Code)
	if status.Reason != "" {
		text += " " + string(status.Reason)
	} else if standard := http.StatusText(int(status.Code)); standard != "" {
		text += " " + standard
	}
	if message := strings.TrimSpace(err.Error()); message != "" {
		text += ": " + message
	}
	return text
}
