package endtoend_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/informertest"
	"github.com/listwatch/listwatch/internal/bubble"
	"github.com/listwatch/listwatch/reflector"
)

// shards cuts the hashes of UIDs into n equal ranges.
func shards(n int) []string {
	var selectors []string
	bound := func(k int) string {
		if k == n {
			return "0x10000000000000000"
		}
		return fmt.Sprintf("0x%016x", uint64(k)*(1<<63/uint64(n)*2))
	}
	for k := range n {
		selectors = append(selectors, fmt.Sprintf("shardRange(object.metadata.uid, '%s', '%s')", bound(k), bound(k+1)))
	}
	return selectors
}

// sharded is a rig with an informer and a handler for each shard.
//
// bubble: it lives in the spec's.
type sharded struct {
	*rig
	random    *rand.Rand
	informers []*informer.Informer[*corev1.ConfigMap]
	handlers  []*informertest.Recorder[*corev1.ConfigMap]
	moves     int // of a name from one shard to another
	where     map[string]int
}

func newSharded(n int, options reflector.Options) *sharded {
	GinkgoHelper()
	s := &sharded{rig: newRigWith(fakeserver.Options{Cache: cacher.Options{Sharding: true}}), where: map[string]int{}}
	s.random = rand.New(rand.NewPCG(1, uint64(n)))
	for k := range 100 { // so many that no shard is empty by chance
		s.create(fmt.Sprint("o", k))
	}
	for _, selector := range shards(n) {
		source := s.shard(selector)
		inf, handler := s.informerFrom(source, informer.Options[*corev1.ConfigMap]{Reflector: options})
		s.informers, s.handlers = append(s.informers, inf), append(s.handlers, handler)
	}
	return s
}

// shard reads one.
func (s *sharded) shard(selector string) reflector.Source[*corev1.ConfigMap] {
	return reflector.FromREST[*corev1.ConfigMap](s.reader.CoreV1().RESTClient(), "configmaps", "default", reflector.WithShard(selector))
}

// write changes the collection in some ways.
func (s *sharded) write(changes int) {
	exist := s.served()
	for range changes {
		name := fmt.Sprint("o", s.random.IntN(150))
		_, exists := exist[name]
		switch {
		case !exists:
			s.create(name)
			exist[name] = ""
		case s.random.IntN(3) > 0:
			s.update(name, fmt.Sprint(s.random.Int()))
		case s.random.IntN(2) == 0:
			s.delete(name)
			delete(exist, name)
		default: // the new one has another UID
			s.delete(name)
			s.create(name)
		}
	}
}

// check expects each object to be in one shard, and each handler to know what its
// shard has.
func (s *sharded) check() {
	GinkgoHelper()
	time.Sleep(time.Minute)
	synctest.Wait()
	together := map[string]string{}
	for k, inf := range s.informers {
		part := cached(inf)
		Expect(part).NotTo(BeEmpty(), "shard %d", k)
		Expect(s.told(k)).To(Equal(part), "what the handler of shard %d was told", k)
		for name, version := range part {
			Expect(together).NotTo(HaveKey(name), "shard %d", k)
			together[name] = version
			if before, known := s.where[name]; known && before != k {
				s.moves++
			}
			s.where[name] = k
		}
	}
	Expect(together).To(Equal(s.served()))
}

// told is what the calls of a handler add up to.
func (s *sharded) told(k int) map[string]string {
	known := map[string]string{}
	for _, call := range s.handlers[k].Trace() {
		name := strings.TrimPrefix(call.Key, "default/")
		switch call.Kind {
		case informertest.AddCall, informertest.UpdateCall:
			known[name] = fmt.Sprint(call.Object.ResourceVersion)
		case informertest.DeleteCall:
			delete(known, name)
		}
	}
	return known
}

var _ = Describe("The shards of a collection", func() {
	for _, n := range []int{2, 4} {
		for _, listing := range listings {
			bubble.It(fmt.Sprintf("are disjoint and together the whole, whatever happens: %d, %s", n, listing.name), func() {
				options := listing.options
				options.PageSize = 3
				s := newSharded(n, options)
				s.check()
				s.write(50)
				s.check()
				repair := s.cut()
				s.write(20)
				repair()
				s.check()
				repair = s.cut()
				s.write(20)
				_, err := s.server.Compact(s.ctx)
				Expect(err).NotTo(HaveOccurred())
				repair()
				s.check()
				for _, inf := range s.informers {
					Expect(inf.Status().Reflector.Relists).To(HaveKeyWithValue(reflector.RelistExpired, int64(1)))
					inf.Relist()
				}
				s.write(20)
				s.check()
				Expect(s.moves).To(BeNumerically(">", 0), "a name that is given again goes to another shard now and then")
			})
		}

		bubble.It(fmt.Sprintf("are the collection again when they are joined: %d", n), func() {
			s := newSharded(0, reflector.Options{})
			var parts []informer.Part[*corev1.ConfigMap]
			for k, selector := range shards(n) {
				parts = append(parts, informer.Part[*corev1.ConfigMap]{Name: fmt.Sprint("shard ", k), Source: s.shard(selector)})
			}
			inf, err := informer.NewJoined(parts, informer.Options[*corev1.ConfigMap]{})
			Expect(err).NotTo(HaveOccurred())
			ctx, stop := context.WithCancel(s.ctx)
			ended := make(chan error, 1)
			go func() { ended <- inf.Run(ctx) }()
			bubble.Cleanup(func() { stop(); Expect(<-ended).To(Succeed()) })
			for range 10 {
				s.write(10)
				time.Sleep(time.Minute)
				synctest.Wait()
				Expect(cached(inf)).To(Equal(s.served()))
			}
			for _, part := range inf.Status().Parts {
				Expect(part.Reflector.Relists).To(Equal(map[reflector.RelistReason]int64{reflector.RelistInitial: 1}))
			}
		})
	}

	bubble.It("are each the whole of a server that knows no shards", func() {
		s := &sharded{rig: newRig()}
		s.create("a")
		s.create("b")
		for _, selector := range shards(2) {
			inf, _ := s.informerFrom(s.shard(selector), informer.Options[*corev1.ConfigMap]{})
			Expect(cached(inf)).To(Equal(s.served()))
		}
	})
})
