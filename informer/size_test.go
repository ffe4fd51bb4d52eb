package informer

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/listwatch/listwatch/indexer"
)

// bigPod shares nothing with other pods.
func bigPod(k int) *corev1.Pod {
	own := func(n int) string { return strings.Repeat(fmt.Sprintf("%05d", k), n) }
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: own(3), Namespace: own(2), Labels: map[string]string{}, CreationTimestamp: metav1.Now(),
	}}
	for i := range 8 {
		p.Labels[own(3)+fmt.Sprint(i)] = own(4)
	}
	for range 3 {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: own(2), Image: own(10), Args: []string{own(3), own(4)},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}},
		})
	}
	return p
}

// collect frees all garbage, that which cleanups keep included: the detectors of the
// informers of earlier tests have a copy of each object until its cleanup has run.
func collect() {
	cleanups := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	for executed := uint64(math.MaxUint64); ; {
		runtime.GC()
		metrics.Read(cleanups)
		if cleanups[0].Value.Uint64() == executed { // all had run before, and no more came
			return
		}
		executed = cleanups[1].Value.Uint64()
		runtime.Gosched()
	}
}

func retained(t *testing.T, make func()) int64 {
	t.Helper()
	var before, after runtime.MemStats
	collect()
	runtime.ReadMemStats(&before)
	make()
	collect()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

func TestTheEstimateOfBytesIsNearTheTruth(t *testing.T) {
	const n = 2000
	for name, create := range map[string]func(k int) any{
		"typed": func(k int) any { return bigPod(k) },
		"unstructured": func(k int) any {
			return &unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"name": fmt.Sprintf("n%d", k), "generation": int64(k + 1000)},
				"spec":     map[string]any{"list": []any{fmt.Sprintf("a%d", k), "b", map[string]any{"c": float64(k)}}, "ok": true},
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := make([]any, 0, n)
			truth := retained(t, func() {
				for k := range n {
					objects = append(objects, create(k))
				}
			})
			var estimate int64
			for _, obj := range objects {
				estimate += indirect(reflect.ValueOf(obj))
			}
			if estimate < truth*6/10 || estimate > truth*14/10 {
				t.Errorf("estimated %d bytes an object, in truth %d", estimate/n, truth/n)
			}
		})
	}
}

func TestObjectsAreMeasuredAgainWhenTheyAreOtherOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, err := indexer.New(indexer.Options[*thing]{})
		if err != nil {
			t.Fatal(err)
		}
		add := func(n, size int) *indexer.Snapshot[*thing] {
			var changes []indexer.Change[*thing]
			for k := range n {
				obj := newThing(fmt.Sprintf("o%04d", k), "u", 1)
				obj.Annotations = map[string]string{"a": strings.Repeat("x", size)}
				changes = append(changes, indexer.Change[*thing]{Key: obj.Name, Object: obj})
			}
			return x.Apply(changes, "1")
		}
		var z sizer[*thing]
		if got := z.estimate(x.Snapshot()); got != 0 {
			t.Errorf("nothing is %d bytes", got)
		}
		small := z.estimate(add(100, 0))
		if got := z.estimate(add(100, 1000)); got != small {
			t.Errorf("measured at once: %d bytes after %d", got, small)
		}
		time.Sleep(time.Minute)
		large := z.estimate(x.Snapshot())
		if large != small+100*1000 {
			t.Errorf("measured %d bytes, want 100,000 more than %d", large, small)
		}
		if got := z.estimate(add(1000, 0)); got > 5*large {
			t.Errorf("ten times as many objects: %d bytes, want them measured", got)
		}
	})
}
