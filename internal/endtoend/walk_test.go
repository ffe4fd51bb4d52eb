package endtoend_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

const (
	walks     = 500
	walkSteps = 80
)

// TestWhatInformersTellAndShowIsLegalWhateverTheWeather walks at random: writes,
// faults of the wire, compactions, stops and restarts, handlers that come and go,
// and proves every trace and snapshot legal. WALK_SEED=n repeats one walk.
//
// The walks are no ginkgo specs so that they can run side by side.
func TestWhatInformersTellAndShowIsLegalWhateverTheWeather(t *testing.T) {
	seeds := make([]uint64, walks)
	for i := range seeds {
		seeds[i] = rand.Uint64()
	}
	if testing.Short() {
		seeds = seeds[:walks/20]
	}
	if seed, err := strconv.ParseUint(os.Getenv("WALK_SEED"), 10, 64); err == nil {
		seeds = []uint64{seed}
	}
	var mu sync.Mutex
	happened := map[string]int{}
	t.Run("walks", func(t *testing.T) {
		for _, seed := range seeds {
			t.Run(fmt.Sprint("WALK_SEED=", seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newWalk(t, seed)
					w.run()
					mu.Lock()
					defer mu.Unlock()
					for what, n := range w.happened() {
						happened[what] += n
					}
				})
			})
		}
	})
	t.Logf("%d walks: %v", len(seeds), happened)
	if len(seeds) < walks/20 {
		return
	}
	for _, fault := range append(faults, "cut", "compaction", "restart", "relist", "part") {
		if happened[fault] < len(seeds)/10 {
			t.Errorf("%q happened %d times in %d walks", fault, happened[fault], len(seeds))
		}
	}
}

// walk is a ground with some informers, and what is written there at random.
//
// bubble: made by newWalk
type walk struct {
	*ground
	random  *rand.Rand
	exists  map[string]bool // by key
	members []participant
	counts  map[string]int
}

func newWalk(t *testing.T, seed uint64) *walk {
	random := rand.New(rand.NewPCG(seed, 0))
	g := newGround(t, cacher.Options{MinCapacity: 5 + random.IntN(20), MaxCapacity: 30})
	w := &walk{ground: g, random: random, exists: map[string]bool{}, counts: map[string]int{}}
	for range 1 + random.IntN(3) {
		w.members = append(w.members, w.newMember())
	}
	return w
}

func (w *walk) run() {
	for _, m := range w.members {
		m.start()
	}
	for range walkSteps {
		w.step()
		for _, m := range w.members {
			m.look()
		}
	}
	w.finish()
}

// step does one random thing.
func (w *walk) step() {
	m := w.members[w.random.IntN(len(w.members))]
	switch n := w.random.IntN(100); {
	case n < 3: // a burst
		for range 10 {
			w.write()
		}
	case n < 40:
		w.write()
	case n < 60:
		time.Sleep(time.Duration(w.random.IntN(3000)) * time.Millisecond)
	case n < 64:
		time.Sleep(time.Duration(w.random.IntN(200)) * time.Second)
	case n < 73:
		m.wire().cut()
	case n < 81:
		m.wire().set(0.3 + 0.6*w.random.Float64())
	case n < 85:
		m.wire().set(0)
	case n < 88:
		w.compact()
	case n < 91:
		w.counts["restart"]++
		m.stop()
		m.start()
	case n < 93:
		m.stop() // until a restart
	case n < 95:
		m.start()
	case n < 98:
		m.join()
	default:
		w.counts["part"]++
		m.part()
	}
}

// write creates, changes or deletes an object.
func (w *walk) write() {
	namespace, name := string(rune('a'+w.random.IntN(2))), fmt.Sprint("o", w.random.IntN(4))
	key := namespace + "/" + name
	if w.exists[key] && w.random.IntN(3) == 0 {
		w.remove(namespace, name)
		delete(w.exists, key)
		return
	}
	w.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name,
		Labels:      map[string]string{"x": strconv.Itoa(w.random.IntN(2))},
		Annotations: map[string]string{"content": strconv.FormatUint(w.random.Uint64(), 36)},
	}}, w.exists[key])
	w.exists[key] = true
}

// compact makes the server forget its history, once that was recorded.
func (w *walk) compact() {
	w.recorded()
	w.counts["compaction"]++
	if _, err := w.server.Compact(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// finish lets everything come to rest, and judges.
func (w *walk) finish() {
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Hour)
	defer cancel()
	w.recorded()
	for _, m := range w.members {
		m.wire().set(0)
		m.start()
	}
	synctest.Wait() // until all run
	for _, m := range w.members {
		if err := m.settle(ctx, w.server); err != nil {
			w.t.Errorf("%s does not settle: %v", m.describe(), err)
		}
		m.stop()
		if err := m.verify(w.history); err != nil {
			w.t.Error(err)
		}
	}
}

// happened counts faults and other events.
func (w *walk) happened() map[string]int {
	for _, m := range w.members {
		m.wire().total(w.counts)
		w.counts["relist"] += m.relists()
	}
	return w.counts
}
