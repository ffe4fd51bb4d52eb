package differential

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// request is one request of an informer, and what became of it.
type request struct {
	verb    string // LIST, WATCH or WATCH-LIST
	options metav1.ListOptions
	at      time.Time
	gap     time.Duration // since the end of the one before
	run     int           // of the informer, from 1
	synced  bool          // a watch-list that ended its initial events is a watch
	outcome string        // "" while a stream is open
}

// String writes a request so that those of two informers can be compared: what
// is drawn at random is written as the interval that it comes from.
func (r *request) String() string {
	var b strings.Builder
	if r.gap > 0 && !r.isProbe() {
		fmt.Fprintf(&b, "after %s ", interval(r.gap))
	}
	fmt.Fprintf(&b, "%s at %q", r.verb, r.options.ResourceVersion)
	o := r.options
	if o.ResourceVersionMatch != "" {
		fmt.Fprintf(&b, " match=%s", o.ResourceVersionMatch)
	}
	if o.Limit != 0 {
		fmt.Fprintf(&b, " limit=%d", o.Limit)
	}
	if o.Continue != "" {
		fmt.Fprintf(&b, " continue=%s", o.Continue)
	}
	r.writeStreamOptions(&b)
	if r.outcome != "" {
		fmt.Fprintf(&b, ": %s", r.outcome)
	}
	return b.String()
}

// isProbe reports whether it asks a silent server where it is, beside the watch:
// when, is drawn at random.
func (r *request) isProbe() bool {
	return r.verb == "LIST" && r.options.ResourceVersion == "" && r.options.Limit == 1
}

// writeStreamOptions writes what is unusual: every watch is to ask for
// bookmarks and for an end within the usual interval, a LIST for neither.
func (r *request) writeStreamOptions(b *strings.Builder) {
	o := r.options
	isStream := r.verb != "LIST"
	if o.AllowWatchBookmarks != isStream {
		fmt.Fprintf(b, " bookmarks=%v", o.AllowWatchBookmarks)
	}
	switch {
	case o.TimeoutSeconds == nil && isStream:
		b.WriteString(" without-timeout")
	case o.TimeoutSeconds != nil && !isStream,
		o.TimeoutSeconds != nil && (*o.TimeoutSeconds < 300 || *o.TimeoutSeconds >= 600):
		fmt.Fprintf(b, " timeout=%d", *o.TimeoutSeconds)
	}
	if o.SendInitialEvents != nil && !*o.SendInitialEvents {
		b.WriteString(" send-initial-events=false")
	}
	if o.LabelSelector != "" || o.FieldSelector != "" || o.Watch {
		fmt.Fprintf(b, " label-selector=%q field-selector=%q watch=%v", o.LabelSelector, o.FieldSelector, o.Watch)
	}
}

// intervals are those that a wait can be drawn from: the delays of the backoff,
// each with up to as much jitter. The last ones overlap and are one.
var intervals = []struct {
	from, to time.Duration
	name     string
}{
	{800 * time.Millisecond, 1600 * time.Millisecond, "0.8-1.6s"},
	{1600 * time.Millisecond, 3200 * time.Millisecond, "1.6-3.2s"},
	{3200 * time.Millisecond, 6400 * time.Millisecond, "3.2-6.4s"},
	{6400 * time.Millisecond, 12800 * time.Millisecond, "6.4-12.8s"},
	{12800 * time.Millisecond, 25600 * time.Millisecond, "12.8-25.6s"},
	{25600 * time.Millisecond, time.Minute, "25.6-60s"},
}

// interval writes the interval that a duration was drawn from, or the duration
// itself if it is a round one and so was not drawn. (A second is what a server
// asks for that does not know a version: the longer of that and a drawn one.)
func interval(d time.Duration) string {
	if d%(100*time.Millisecond) == 0 && d != time.Second {
		return d.String()
	}
	for _, i := range intervals {
		if d >= i.from && d < i.to {
			return i.name
		}
	}
	return "an odd time" // of no interval: never equal to what is expected
}

// lifetime writes how long a stream lived. One that outlived its timeout, which
// is drawn at random, is not measured.
func lifetime(d time.Duration) string {
	if d > 5*time.Minute && d < 11*time.Minute {
		return "its timeout and a margin"
	}
	return interval(d)
}
