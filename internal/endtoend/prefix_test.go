package endtoend_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

const (
	prefixWriters = 4
	prefixReaders = 4
	prefixWrites  = 250 // each writer's
	prefixNames   = 12  // each writer's
)

// versions are resourceVersions by object name.
type versions map[string]string

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
			inf := runInformer(ctx, client)

			observed := make([]map[string]versions, prefixReaders)
			writing, written := context.WithCancel(ctx)
			var readers, writers sync.WaitGroup
			for i := range observed {
				readers.Go(func() { observed[i] = observe(writing, inf) })
			}
			for i := range prefixWriters {
				writers.Go(func() {
					defer GinkgoRecover()
					write(ctx, maps, i, server)
				})
			}
			writers.Wait()
			last, err := maps.List(ctx, metav1.ListOptions{})
			Expect(err).NotTo(HaveOccurred())
			Expect(inf.WaitFor(ctx, last.ResourceVersion)).To(Succeed())
			written()
			readers.Wait()

			checked := map[string]versions{}
			for reader, snapshots := range observed {
				Expect(len(snapshots)).To(BeNumerically(">", 5), "reader %d saw too little to prove anything", reader)
				for version, content := range snapshots {
					if checked[version] == nil {
						checked[version] = history(ctx, maps, version)
					}
					Expect(content).To(Equal(checked[version]), "reader %d, snapshot at %s", reader, version)
				}
			}
			AddReportEntry("distinct snapshots checked", len(checked))
		})
})

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

// observe takes snapshots as fast as it can and returns their contents by
// resourceVersion. It panics if the versions go back: it is a reader's goroutine.
func observe(writing context.Context, inf *informer.Informer[*corev1.ConfigMap]) map[string]versions {
	defer GinkgoRecover()
	seen := map[string]versions{}
	previous := uint64(0)
	for writing.Err() == nil {
		snapshot := inf.Snapshot()
		version, err := strconv.ParseUint(snapshot.ResourceVersion(), 10, 64)
		Expect(err).NotTo(HaveOccurred())
		Expect(version).To(BeNumerically(">=", previous), "a reader was taken back")
		if version > previous {
			content := versions{}
			for _, object := range snapshot.All() {
				content[object.Name] = object.ResourceVersion
			}
			Expect(content).To(HaveLen(snapshot.Len()))
			seen[snapshot.ResourceVersion()] = content
			previous = version
		}
		runtime.Gosched()
	}
	return seen
}

// write makes random changes to objects that no other writer touches. The first
// writer also cuts the watches now and then.
func write(ctx context.Context, maps typedcorev1.ConfigMapInterface, writer int, server *fakeserver.Server) {
	random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), uint64(writer)))
	exists := map[string]bool{}
	for i := range prefixWrites {
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

// history is what the server says the collection was at the resourceVersion.
func history(ctx context.Context, maps typedcorev1.ConfigMapInterface, version string) versions {
	GinkgoHelper()
	list, err := maps.List(ctx, metav1.ListOptions{
		ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	})
	Expect(err).NotTo(HaveOccurred())
	content := versions{}
	for _, item := range list.Items {
		content[item.Name] = item.ResourceVersion
	}
	return content
}
