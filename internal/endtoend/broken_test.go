package endtoend_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/informertest"
	"github.com/listwatch/listwatch/reflector"
)

// frame is what a broken wire looks at.
type frame struct {
	Type   string
	Object metav1.PartialObjectMetadata
}

func (f *frame) is(kind, name string) bool { return f.Type == kind && f.Object.Name == name }

func (f *frame) endsInitialEvents() bool {
	return f.Object.Annotations[metav1.InitialEventsAnnotationKey] == "true"
}

// breakage says which lines go on instead of one; it may remember lines in kept.
type breakage func(f *frame, line []byte, kept *[]byte) [][]byte

var nothing, asItIs = [][]byte(nil), func(line []byte) [][]byte { return [][]byte{line} }

// breakages are faults of a wire that no client can notice, and the rules by
// which Verify must.
var breakages = map[string]struct {
	breakage
	rules []informertest.Rule
}{
	"no fault": {func(_ *frame, line []byte, _ *[]byte) [][]byte { return asItIs(line) }, nil},
	"a dropped DELETED": {func(f *frame, line []byte, _ *[]byte) [][]byte {
		if f.is("DELETED", "b") {
			return nothing
		}
		return asItIs(line)
	}, []informertest.Rule{informertest.WrongSnapshot, informertest.Lost}},
	"a dropped ADDED": {func(f *frame, line []byte, _ *[]byte) [][]byte {
		if f.is("ADDED", "d") {
			return nothing
		}
		return asItIs(line)
	}, []informertest.Rule{informertest.WrongSnapshot, informertest.Lost}},
	"a dropped MODIFIED": {func(f *frame, line []byte, _ *[]byte) [][]byte {
		if f.is("MODIFIED", "c") {
			return nothing
		}
		return asItIs(line)
	}, []informertest.Rule{informertest.WrongSnapshot, informertest.Lost}},
	"two events in the wrong order": {func(f *frame, line []byte, kept *[]byte) [][]byte {
		switch {
		case f.is("MODIFIED", "a") && *kept == nil:
			*kept = line
			return nothing
		case f.is("MODIFIED", "a"):
			return [][]byte{line, *kept}
		}
		return asItIs(line)
	}, []informertest.Rule{informertest.WrongSnapshot, informertest.Backwards, informertest.SnapshotLate}},
	"an object after its end": {func(f *frame, line []byte, kept *[]byte) [][]byte {
		if f.is("ADDED", "b") {
			*kept = line
		}
		if f.is("DELETED", "b") {
			return [][]byte{line, *kept}
		}
		return asItIs(line)
	}, []informertest.Rule{informertest.WrongSnapshot, informertest.Resurrection}},
	"a bookmark too new": {func(f *frame, line []byte, _ *[]byte) [][]byte {
		if f.Type == "BOOKMARK" && !f.endsInitialEvents() {
			return asItIs(later(line, f, 1))
		}
		return asItIs(line)
	}, []informertest.Rule{informertest.WrongSnapshot, informertest.OutOfHistory}},
	"an end of initial events that came too early": {func(f *frame, line []byte, kept *[]byte) [][]byte {
		switch {
		case f.is("ADDED", "a") && *kept == nil:
			*kept = line
			return nothing
		case f.endsInitialEvents():
			return [][]byte{line, *kept}
		}
		return asItIs(line)
	}, []informertest.Rule{informertest.WrongSnapshot, informertest.EarlySync}},
	"an object with the content of another": {func(f *frame, line []byte, _ *[]byte) [][]byte {
		return asItIs(bytes.ReplaceAll(line, []byte(`"c at the end"`), []byte(`"c at first"`)))
	}, []informertest.Rule{informertest.WrongContent}},
	"an object with the UID of another": {func(f *frame, line []byte, kept *[]byte) [][]byte {
		if f.is("ADDED", "a") {
			*kept = []byte(f.Object.UID)
		}
		if f.is("ADDED", "d") {
			return asItIs(bytes.ReplaceAll(line, []byte(f.Object.UID), *kept))
		}
		return asItIs(line)
	}, []informertest.Rule{informertest.WrongSnapshot, informertest.Ghost}},
	"a resourceVersion too new": {func(f *frame, line []byte, _ *[]byte) [][]byte {
		if f.is("ADDED", "d") {
			return asItIs(later(line, f, 1))
		}
		return asItIs(line)
	}, []informertest.Rule{informertest.WrongSnapshot, informertest.Ghost}},
}

// later gives a line a newer resourceVersion.
func later(line []byte, f *frame, by uint64) []byte {
	version := f.Object.ResourceVersion
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		panic(err)
	}
	return bytes.Replace(line, []byte(strconv.Quote(version)), []byte(strconv.Quote(strconv.FormatUint(n+by, 10))), 1)
}

// brokenBody is a JSON watch stream through a breakage.
type brokenBody struct {
	io.Closer
	lines    *bufio.Reader
	breakage breakage
	kept     []byte
	ready    []byte
}

func (b *brokenBody) Read(p []byte) (int, error) {
	for len(b.ready) == 0 {
		line, err := b.lines.ReadBytes('\n')
		if err != nil {
			return 0, err
		}
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			return 0, err
		}
		b.ready = bytes.Join(b.breakage(&f, line, &b.kept), nil)
	}
	n := copy(p, b.ready)
	b.ready = b.ready[n:]
	return n, nil
}

// broken is a wire with a breakage.
type broken struct {
	next http.RoundTripper
	breakage
}

func (b broken) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") == "true" {
		response.Body = &brokenBody{Closer: response.Body, lines: bufio.NewReader(response.Body), breakage: b.breakage}
	}
	return response, err
}

// TestABrokenWireIsNoticed plants a fault into the stream between a correct
// server and a correct informer, and expects the traces to be refused.
func TestABrokenWireIsNoticed(t *testing.T) {
	for name, test := range breakages {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { seeThrough(t, test.breakage, test.rules) })
		})
	}
}

// seeThrough plays one piece of history over a broken wire.
func seeThrough(t *testing.T, wire breakage, rules []informertest.Rule) {
	g := newGround(t, cacher.Options{})
	config := g.config(func(next http.RoundTripper) http.RoundTripper { return broken{next, wire} })
	source := reflector.FromREST[*corev1.ConfigMap](typedcorev1.NewForConfigOrDie(config).RESTClient(), "configmaps", "a", reflector.WithJSON())
	m := newMember(membership{
		t: t, name: "informer", random: rand.New(rand.NewPCG(1, 1)), match: everything,
	}, func(options informer.Options[*corev1.ConfigMap]) (*informer.Informer[*corev1.ConfigMap], error) {
		return informer.New(source, options)
	}, informer.Options[*corev1.ConfigMap]{})
	h := &handler[*corev1.ConfigMap]{}
	h.Look = true
	m.hears.attach(h)
	for _, write := range []string{"+a", "+b", "+c", "start", "~a", "~a", "-b", "+d", "~c", "+elsewhere", "~d", "-a", "+a"} {
		name := write[1:]
		switch {
		case write == "start":
			m.start()
		case write[0] == '-':
			g.remove("a", name)
		default:
			content := name + " at first"
			if write[0] == '~' {
				content = name + " at the end"
			}
			namespace := "a"
			if name == "elsewhere" {
				namespace = "b"
			}
			g.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, Annotations: map[string]string{"content": content},
			}}, write[0] == '~')
		}
		g.recorded()
		m.look()
	}
	h.Settled(g.recorded())
	m.stop()

	err := m.verify(g.history.Filter(func(obj metav1.Object) bool { return obj.GetNamespace() == "a" }))
	if len(rules) == 0 {
		if err != nil {
			t.Error(err)
		}
		return
	}
	// Reader or handler see it, each in its own way.
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("not noticed: %v", err)
	}
	for _, err := range joined.Unwrap() {
		v, ok := errors.AsType[*informertest.Violation](err)
		if !ok || !slices.Contains(rules, v.Rule) || len(v.Trace) > 3 {
			t.Errorf("got %v", err)
		}
	}
}
