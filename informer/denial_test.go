package informer

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/reflector"
)

// answer is an error of a server whose message says nothing.
func answer(code int, details *metav1.StatusDetails) error {
	return fmt.Errorf("list: %w", &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Message: "no", Details: details,
	}})
}

func TestADenialSaysWhatIsMissing(t *testing.T) {
	deployments := reflector.Collection{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "web"}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "", errors.New("no"))
	for _, c := range []struct {
		name       string
		verb       string
		code       int
		err        error
		collection reflector.Collection
		want       string
	}{
		{"what the source knows", "list", 403, answer(403, nil), deployments,
			`permission is missing (RBAC): verb "list" on resource "deployments" in API group "apps" in namespace "web"`},
		{"what the server says", "watch", 403, forbidden, reflector.Collection{},
			`permission is missing (RBAC): verb "watch" on resource "jobs" in API group "batch" at the cluster scope`},
		{"the server names something else", "list", 403, answer(403, &metav1.StatusDetails{Kind: "proxies"}), deployments,
			`permission is missing (RBAC): verb "list" on resource "deployments" in API group "apps" in namespace "web"`},
		{"nobody knows", "list", 403, answer(403, nil), reflector.Collection{Namespace: "web"},
			`permission is missing (RBAC): verb "list" on the informer's resource in namespace "web"`},
		{"no credentials", "list", 401, answer(401, nil), deployments,
			`authentication is missing: the server does not accept the client's credentials`},
		{"no such resource", "list", 404, answer(404, nil), reflector.Collection{Group: "acme.io", Version: "v1beta1", Resource: "widgets"},
			`resource "widgets" in API group "acme.io" version "v1beta1" is absent from the server: ` +
				`its CustomResourceDefinition is not installed, or the server does not serve this group and version`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := reflector.Status{Tries: 1, LastVerb: c.verb, HTTPStatus: c.code, LastError: c.err}
			got, ok := denialOf(s, c.collection)
			if !ok || got.String() != c.want {
				t.Errorf("got %v %s\nwant %s", ok, got, c.want)
			}
			s.Tries = 0
			if got, ok := denialOf(s, c.collection); ok {
				t.Errorf("%v counts although there was a sign of life since", got)
			}
		})
	}
}

func TestOnlyWhatLastsIsADenial(t *testing.T) {
	for _, code := range []int{0, 400, 405, 410, 429, 500, 503, 504} {
		if d, ok := denialOf(reflector.Status{Tries: 3, HTTPStatus: code, LastError: answer(code, nil)}, reflector.Collection{}); ok {
			t.Errorf("%d: %v", code, d)
		}
	}
}

func TestAnErrorIsDescribedWithItsHTTPStatus(t *testing.T) {
	for want, err := range map[string]error{
		"broken":                                 errors.New("broken"),
		"HTTP 503 Service Unavailable: list: no": answer(http.StatusServiceUnavailable, nil),
		"HTTP 410 Expired: list: too old":        fmt.Errorf("list: %w", apierrors.NewResourceExpired("too old")),
		"HTTP 499: list: no":                     answer(499, nil),
	} {
		if got := describe(err); strings.TrimSpace(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
