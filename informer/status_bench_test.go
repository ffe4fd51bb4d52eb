package informer

import (
	"fmt"
	"io"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/reflector"
)

// observed is an informer with 100,000 pods in its cache.
func observed(b *testing.B) *Informer[*corev1.Pod] {
	b.Helper()
	inf, err := New(reflector.FromListerWatcher[*corev1.Pod](newFeed()), Options[*corev1.Pod]{Indexes: map[string]indexer.Func[*corev1.Pod]{
		"label": func(p *corev1.Pod) []string { return []string{p.Name[:3], p.Name[:4]} },
	}})
	if err != nil {
		b.Fatal(err)
	}
	changes := make([]indexer.Change[*corev1.Pod], 0, 100_000)
	for k := range 100_000 {
		changes = append(changes, indexer.Change[*corev1.Pod]{Key: fmt.Sprintf("ns/%06d", k), Object: bigPod(k % 1000)})
	}
	inf.write(func(*published[*corev1.Pod]) outcome[*corev1.Pod] {
		return outcome[*corev1.Pod]{changes: changes, resourceVersion: "1", replacedAt: 0}
	})
	return inf
}

func BenchmarkStatus(b *testing.B) {
	inf := observed(b)
	for b.Loop() {
		inf.Status()
	}
}

func BenchmarkMeasuringObjects(b *testing.B) {
	inf := observed(b)
	for b.Loop() {
		meanSize(inf.Snapshot())
	}
}

func BenchmarkExplain(b *testing.B) {
	inf := observed(b)
	for b.Loop() {
		inf.Explain("ns/050000")
	}
}

func BenchmarkStatusPage(b *testing.B) {
	h := StatusHandler(observed(b))
	for b.Loop() {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest("GET", "/?format=html", nil))
		_, _ = io.Copy(io.Discard, answer.Body)
	}
}
