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
	walkKinds = 8 // the remainder of a seed says what a walk is about
)

// TestWhatInformersTellAndShowIsLegalWhateverTheWeather walks at random: writes,
// faults of the wire, compactions, stops and restarts, handlers that come and go,
// and proves every trace and snapshot legal. WALK_SEED=n repeats one walk.
//
// The walks are no ginkgo specs so that they can run side by side.
func TestWhatInformersTellAndShowIsLegalWhateverTheWeather(t *testing.T) {
	seeds := make([]uint64, walks)
	for i := range seeds { // as many walks of each kind
		seeds[i] = rand.Uint64()/walkKinds*walkKinds + uint64(i%walkKinds)
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
	for _, fault := range append(faults, "cut", "compaction", "restart", "relist", "part", "forced relist", "predicate",
		"loop", "left loop", "ended loop", "lease", "joined", "mapped", "restore", "rewind",
		"moment", "view", "lister") {
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
	random   *rand.Rand
	exists   map[string]bool // by key
	members  []participant
	secrets  *secrets // nil if nobody reads them
	restores bool     // the server is restored now and then
	counts   map[string]int
}

// newWalk draws what the walk is about: some informers, and in some kinds of walks
// one that is joined, or a factory, or a server that is restored from backups.
func newWalk(t *testing.T, seed uint64) *walk {
	random := rand.New(rand.NewPCG(seed, 0))
	g := newGround(t, cacher.Options{MinCapacity: 5 + random.IntN(20), MaxCapacity: 30})
	w := &walk{ground: g, random: random, exists: map[string]bool{}, counts: map[string]int{}}
	more := random.IntN(3)
	switch seed % walkKinds {
	case 0, 1:
		w.members = append(w.members, w.newMember(true))
	case 2, 3:
		w.members = append(w.members, w.newFactory())
	case 4, 5:
		w.restores = true
		more = max(more, 1)
	default:
		more++
	}
	for range min(more, 2+random.IntN(2)) {
		w.members = append(w.members, w.newMember(false))
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
	if w.restores && w.random.IntN(25) == 0 {
		w.back()
		return
	}
	m := w.members[w.random.IntN(len(w.members))]
	switch n := w.random.IntN(100); {
	case n < 3: // a burst
		for range 10 {
			w.write()
		}
	case n < 40:
		w.write()
	case n < 55:
		time.Sleep(time.Duration(w.random.IntN(3000)) * time.Millisecond)
	case n < 59:
		time.Sleep(time.Duration(w.random.IntN(200)) * time.Second)
	case n < 67:
		m.wire().cut()
	case n < 75:
		m.wire().set(0.3 + 0.6*w.random.Float64())
	case n < 79:
		m.wire().set(0)
	case n < 82:
		w.compact()
	case n < 85:
		w.counts["restart"]++
		m.stop()
		m.start()
	case n < 87:
		m.stop() // until a restart
	case n < 89:
		m.start()
	case n < 92:
		m.join()
	case n < 94:
		w.counts["part"]++
		m.part()
	case n < 96:
		m.loop()
	case n < 98:
		w.counts["forced relist"]++
		m.relist()
	default:
		m.lease()
	}
}

// back restores the server to one of its last states, and lets every informer list
// before the versions after that are given again: only a list shows it.
func (w *walk) back() {
	w.recorded()
	changes := w.history.Changes()
	if len(changes) == 0 {
		return
	}
	last := changes[max(0, len(changes)-1-w.random.IntN(15))]
	stopped := w.random.IntN(2) == 0
	for _, m := range w.members {
		m.wire().set(0)
		if stopped {
			m.stop()
		} else {
			m.start()
		}
	}
	synctest.Wait()
	if w.restore(last.Version.ResourceVersion) {
		w.counts["restore"]++
		clear(w.exists)
		for key := range w.history.At(last.Version.ResourceVersion) {
			w.exists[key] = true
		}
	}
	for _, m := range w.members {
		m.start()
		m.relist()
	}
	time.Sleep(5 * time.Minute)
}

// write creates, changes or deletes an object.
func (w *walk) write() {
	if w.secrets != nil && w.random.IntN(3) == 0 {
		w.secrets.write()
		return
	}
	namespace, name := string(rune('a'+w.random.IntN(2))), fmt.Sprint("o", w.random.IntN(4))
	key := namespace + "/" + name
	if w.exists[key] && w.random.IntN(3) == 0 {
		w.remove(namespace, name)
		delete(w.exists, key)
		return
	}
	w.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name,
		Labels:      map[string]string{"x": strconv.Itoa(w.random.IntN(2)), "y": strconv.Itoa(w.random.IntN(4))},
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
		m.tally(w.counts)
	}
	return w.counts
}
