package informer

import (
	"fmt"
	"strings"
	"time"

	"github.com/listwatch/listwatch/reflector"
)

// explainer draws the conclusions of an Explanation from what was found.
type explainer struct {
	e      *Explanation
	status *Status
	shape  shape

	withheld bool  // the newest version was dropped by the transform
	dropped  int64 // versions of any object
	forgot   bool  // some of them
}

func (x explainer) because(format string, args ...any) {
	x.e.Because = append(x.e.Because, fmt.Sprintf(format, args...))
}

// conclude sets verdict and sentences.
func (x explainer) conclude() {
	x.e.Verdict = x.verdict()
	switch x.e.Verdict {
	case VerdictCached:
		x.because("it is in the cache at resourceVersion %q with UID %q; the cache is at %q",
			x.e.ResourceVersion, x.e.UID, x.e.CollectionVersion)
	case VerdictInvalidKey:
		x.because("%s", x.keyProblem())
	case VerdictOtherNamespace:
		x.because("the informer reads only %s", x.scopes())
	case VerdictNotSynced:
		x.because("the collection has not been listed in this run, so nobody knows")
	case VerdictAbsent:
		x.absent()
	}
	x.pending()
	x.transform()
	x.indexes()
	x.deletions()
	x.handlers()
	x.connection()
}

// verdict is the first that applies.
func (x explainer) verdict() Verdict {
	e := x.e
	waiting := false
	for _, p := range e.Pending {
		waiting = !p.Gone
	}
	switch {
	case e.Cached:
		return VerdictCached
	case waiting:
		return VerdictPending
	case x.keyProblem() != "":
		return VerdictInvalidKey
	case x.outside():
		return VerdictOtherNamespace
	case e.Failure != nil:
		return VerdictTransformFailed
	case x.withheld:
		return VerdictTransformDropped
	case len(e.Deletions) > 0:
		return VerdictDeleted
	case !e.Synced:
		return VerdictNotSynced
	}
	return VerdictAbsent
}

// keyProblem says why key cannot be one of this collection; "" if it can.
func (x explainer) keyProblem() string {
	namespace, name, slash := strings.Cut(x.e.Key, "/")
	switch {
	case x.e.Key == "":
		return "the key is empty"
	case strings.Contains(name, "/"), slash && (namespace == "" || name == ""):
		return `a key is "namespace/name", or "name" for an object without a namespace`
	case x.shape == namespaced && !slash:
		return `objects of this collection have a namespace: the key is "namespace/name"`
	case x.shape == clusterScoped && slash:
		return `objects of this collection have no namespace: the key is "name"`
	}
	return ""
}

// outside says whether no source reads the key's namespace.
func (x explainer) outside() bool {
	namespace, _, _ := strings.Cut(x.e.Key, "/")
	for _, source := range x.status.Parts {
		if source.Collection.Namespace == "" || source.Collection.Namespace == namespace {
			return false
		}
	}
	return true
}

// scopes lists what the sources read.
func (x explainer) scopes() string {
	var scopes []string
	for _, source := range x.status.Parts {
		scopes = append(scopes, source.Collection.String())
	}
	return strings.Join(scopes, ", ")
}

func (x explainer) absent() {
	x.because("the collection does not have it at resourceVersion %q, and it is not among the last deletions (up to %d are remembered)",
		x.e.CollectionVersion, maxRecent)
	for _, source := range x.status.Parts {
		if c := source.Collection; c.LabelSelector != "" || c.FieldSelector != "" {
			x.because("the selector may leave it out: the informer reads %s", c)
		}
	}
	if x.dropped > 0 {
		others := ""
		if x.forgot {
			others = fmt.Sprintf(", and the last %d are remembered: it may be one of the others", maxRecent)
		}
		x.because("the transform has dropped %d versions of objects%s", x.dropped, others)
	}
}

func (x explainer) pending() {
	for _, p := range x.e.Pending {
		what := "a new version"
		switch {
		case p.Gone:
			what = "its end"
		case x.e.Verdict == VerdictPending:
			what = "it"
		}
		x.because("%s was received (%s, resourceVersion %q) and waits for the cache, %d changes in the queue, the oldest since %v",
			what, p.Type, p.ResourceVersion, x.status.QueueDepth, x.status.QueueAge.Round(time.Millisecond))
	}
}

func (x explainer) transform() {
	if f := x.e.Failure; f != nil {
		x.because("version %q was received at %s, and %v; the next complete list tries again", f.ResourceVersion, clock(f.At), f.Err)
	}
	if x.e.Cached {
		return // a drop before that is history
	}
	for _, d := range x.e.Drops {
		x.because("version %q was received at %s, and the transform dropped it", d.ResourceVersion, clock(d.Time))
	}
}

func (x explainer) indexes() {
	for _, ix := range x.e.Indexes {
		switch {
		case ix.Err != nil:
			x.because("it is missing from index %q: %v", ix.Index, ix.Err)
		case !x.e.Cached:
		case len(ix.Values) == 0:
			x.because("index %q has it under no value", ix.Index)
		default:
			x.because("index %q has it under %q", ix.Index, ix.Values)
		}
	}
}

func (x explainer) deletions() {
	for _, d := range x.e.Deletions {
		how := "the server said so"
		if !d.Exact {
			how = "the deletion itself was not seen, but a list or another UID showed it"
		}
		if len(x.e.Drops) > 0 {
			how += ", or the transform dropped a newer version"
		}
		before := ""
		if x.e.Cached {
			before = "before that, "
		}
		x.because("%sit left the cache at %s, at resourceVersion %q with UID %q: %s", before, clock(d.Time), d.ResourceVersion, d.UID, how)
	}
}

// handlers tells of those that may not have been told yet.
func (x explainer) handlers() {
	if !x.e.Cached && len(x.e.Deletions) == 0 {
		return
	}
	for _, h := range x.status.Handlers {
		if h.Depth > 0 {
			x.because("handler %q (%s) is %d calls behind, so that it may not have been told", h.Name, h.Site, h.Depth)
		}
	}
}

// connection tells what may keep changes away.
func (x explainer) connection() {
	s := x.status
	switch {
	case !s.Running && x.e.CollectionVersion == "":
		x.because("the informer has not run yet")
	case !s.Running:
		x.because("the informer does not run (since %s): the cache is as it was then", clock(s.Since))
	case !x.e.Synced && x.e.Cached:
		x.because("the informer is not in sync: what is cached may be of an earlier run")
	}
	if !s.Running {
		return
	}
	for _, source := range s.Parts {
		if r := source.Reflector; r.Phase == reflector.Watching || x.e.Synced && r.Tries == 0 {
			continue // or it is just coming up
		}
		var b strings.Builder
		describeSource(&b, source)
		part := ""
		if source.Name != "" {
			part = fmt.Sprintf(" of part %q", source.Name)
		}
		x.because("the watch%s is not up, %s since %s%s", part, source.Reflector.Phase, clock(source.Reflector.Since), b.String())
	}
}

// clock writes a time of day with its date.
func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
