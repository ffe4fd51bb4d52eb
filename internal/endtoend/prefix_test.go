package endtoend_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/informertest"
	"github.com/listwatch/listwatch/reflector"
)

const (
	prefixWriters = 4
	prefixReaders = 4
	prefixWrites  = 250 // each writer's, and more until the readers have seen enough
	prefixLooks   = 6   // different snapshots that each reader has to see
	prefixNames   = 12  // each writer's
)

// This spec runs on real time and several cores, because in a bubble readers
// would look only when everything else stands still.
var _ = Describe("The prefix promise", func() {
	It("every snapshot that four readers take beside four writers is the server's history at its resourceVersion",
		func(ctx SpecContext) {
			server, err := fakeserver.New(fakeserver.Options{})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(server.Close)
			client := kubernetes.NewForConfigOrDie(server.Config())
			maps := client.CoreV1().ConfigMaps("default")
			history, recorded := record(ctx, server, maps)
			inf := runInformer(ctx, client)
			handler := &informertest.Recorder[*corev1.ConfigMap]{Look: true}
			_, err = handler.Attach(inf)
			Expect(err).NotTo(HaveOccurred())

			observed := make([][]informertest.Entry, prefixReaders)
			writing, written := context.WithCancel(ctx)
			var readers, writers sync.WaitGroup
			var lacking atomic.Int32 // readers that have not seen enough
			lacking.Store(prefixReaders)
			for i := range observed {
				readers.Go(func() { observed[i] = observe(writing, inf, &lacking) })
			}
			for i := range prefixWriters {
				writers.Go(func() {
					defer GinkgoRecover()
					write(ctx, maps, i, server, &lacking)
				})
			}
			writers.Wait()
			last, err := informertest.Quiesce(ctx, server, inf)
			Expect(err).NotTo(HaveOccurred())
			handler.Settled(last)
			written()
			readers.Wait()
			recorded(last)

			for reader, snapshots := range observed {
				Expect(len(snapshots)).To(BeNumerically(">=", prefixLooks), "reader %d saw too little to prove anything", reader)
				Expect(informertest.Verify(history, snapshots, informertest.VerifyOptions{})).To(Succeed(), "reader %d", reader)
				AddReportEntry("snapshots checked", len(snapshots))
			}
			Expect(informertest.Verify(history, handler.Trace(), informertest.VerifyOptions{})).To(Succeed(), "the handler")
		})
})

// record follows the server with plain watches, one after the other, since the
// writers cut them. The returned function waits until everything up to a
// resourceVersion is recorded, and ends it.
func record(ctx context.Context, server *fakeserver.Server, maps typedcorev1.ConfigMapInterface) (*informertest.History, func(upTo string)) {
	GinkgoHelper()
	version, err := server.ResourceVersion(ctx)
	Expect(err).NotTo(HaveOccurred())
	history := informertest.NewHistory(parse(version), nil)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer GinkgoRecover()
		err := informertest.ErrWatchEnded
		for errors.Is(err, informertest.ErrWatchEnded) && ctx.Err() == nil {
			_, at := history.Bounds()
			watcher, refused := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: strconv.FormatUint(at, 10), AllowWatchBookmarks: true})
			Expect(refused).NotTo(HaveOccurred())
			err = history.Follow(ctx, watcher)
		}
		Expect(err).To(Or(Succeed(), MatchError(informertest.ErrWatchEnded)))
	}()
	return history, func(upTo string) {
		GinkgoHelper()
		Expect(history.WaitFor(ctx, parse(upTo))).To(Succeed())
		stop()
		<-ended
	}
}

func parse(version string) uint64 {
	GinkgoHelper()
	n, err := strconv.ParseUint(version, 10, 64)
	Expect(err).NotTo(HaveOccurred())
	return n
}

// runInformer starts an informer that is stopped, and has stopped, when the
// spec ends.
func runInformer(ctx context.Context, client kubernetes.Interface) *informer.Informer[*corev1.ConfigMap] {
	GinkgoHelper()
	source := reflector.FromREST[*corev1.ConfigMap](client.CoreV1().RESTClient(), "configmaps", "default")
	inf, err := informer.New(source, informer.Options[*corev1.ConfigMap]{})
	Expect(err).NotTo(HaveOccurred())
	running, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = inf.Run(running) // its error is the end of the context
	}()
	DeferCleanup(func() {
		stop()
		<-ended
	})
	Expect(inf.WaitForSync(ctx)).To(Succeed())
	return inf
}

// observe takes snapshots as fast as it can and returns those that differ.
func observe(writing context.Context, inf *informer.Informer[*corev1.ConfigMap], lacking *atomic.Int32) []informertest.Entry {
	var seen []informertest.Entry
	previous := ""
	for writing.Err() == nil {
		if snapshot := inf.Snapshot(); snapshot.ResourceVersion() != previous {
			previous = snapshot.ResourceVersion()
			if seen = append(seen, informertest.ReadSnapshot(snapshot, nil)); len(seen) == prefixLooks {
				lacking.Add(-1)
			}
		}
		runtime.Gosched()
	}
	return seen
}

// write makes random changes to objects that no other writer touches. The first
// writer also cuts the watches now and then. While readers lack something it goes
// on: with few cores they are seldom run beside the writers.
func write(ctx context.Context, maps typedcorev1.ConfigMapInterface, writer int, server *fakeserver.Server, lacking *atomic.Int32) {
	random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), uint64(writer)))
	exists := map[string]bool{}
	for i := 0; i < prefixWrites || lacking.Load() > 0; i++ {
		name := fmt.Sprintf("w%d-%d", writer, random.IntN(prefixNames))
		object := configMap(name)
		object.Data = map[string]string{"write": strconv.Itoa(i)}
		var err error
		switch {
		case !exists[name]:
			_, err = maps.Create(ctx, object, metav1.CreateOptions{})
			exists[name] = true
		case random.IntN(3) == 0:
			err = maps.Delete(ctx, name, metav1.DeleteOptions{})
			exists[name] = false
		default:
			_, err = maps.Update(ctx, object, metav1.UpdateOptions{})
		}
		Expect(err).NotTo(HaveOccurred())
		if writer == 0 && i%60 == 59 {
			server.DropWatches()
		}
	}
}
