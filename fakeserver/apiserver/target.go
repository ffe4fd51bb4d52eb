package apiserver

import (
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// targetKind is what sort of thing a path names.
type targetKind uint8

const (
	targetOther    targetKind = iota // no API path
	targetVersions                   // /api
	targetGroups                     // /apis
	targetGroup                      // /apis/G
	targetVersion                    // /api/V, /apis/G/V
	targetResource                   // anything below
	targetNowhere                    // below a version, but malformed
)

// target is what a path names. Nothing is looked up: the group, the version and
// the resource need not exist.
type target struct {
	kind        targetKind
	gvr         schema.GroupVersionResource
	namespace   string
	name        string
	subresource string
	watched     bool // below /watch/, the old way to watch
}

// parsePath reads an escaped path. One trailing slash is allowed; empty segments
// elsewhere, and segments that do not unescape, lead nowhere.
func parsePath(escaped string) target {
	trimmed := strings.TrimSuffix(strings.TrimPrefix(escaped, "/"), "/")
	segments := strings.Split(trimmed, "/")
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil || plain == "" {
			return malformed(segments)
		}
		segments[i] = plain
	}
	var t target
	switch segments[0] {
	case "api":
		t, segments = target{kind: targetVersions}, segments[1:]
	case "apis":
		t, segments = target{kind: targetGroups}, segments[1:]
		if len(segments) > 0 {
			t.kind, t.gvr.Group, segments = targetGroup, segments[0], segments[1:]
		}
	default:
		return target{}
	}
	if len(segments) == 0 {
		return t
	}
	t.kind, t.gvr.Version = targetVersion, segments[0]
	if len(segments) == 1 {
		return t
	}
	return t.below(segments[1:])
}

// malformed keeps the group and version, if they come first: below a group that
// is served the answer is another than below one that is not.
func malformed(segments []string) target {
	switch {
	case segments[0] == "api" && len(segments) > 1:
		return target{kind: targetNowhere, gvr: schema.GroupVersionResource{Version: segments[1]}}
	case segments[0] == "apis" && len(segments) > 2:
		return target{kind: targetNowhere, gvr: schema.GroupVersionResource{Group: segments[1], Version: segments[2]}}
	}
	return target{}
}

// namespaceSubresources follow the name of a namespace where otherwise the
// resources in it do.
var namespaceSubresources = map[string]bool{"status": true, "finalize": true}

func (t target) below(segments []string) target {
	t.kind = targetResource
	if segments[0] == "watch" && len(segments) > 1 {
		t.watched, segments = true, segments[1:]
	}
	if segments[0] == "namespaces" && len(segments) > 2 && !(len(segments) == 3 && namespaceSubresources[segments[2]]) {
		t.namespace, segments = segments[1], segments[2:]
	}
	t.gvr.Resource = segments[0]
	switch len(segments) {
	case 1:
	case 2:
		t.name = segments[1]
	case 3:
		t.name, t.subresource = segments[1], segments[2]
	default:
		t.kind = targetNowhere
	}
	return t
}
