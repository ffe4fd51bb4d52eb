package endtoend_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/internal/bubble"
	"github.com/listwatch/listwatch/reflector"
)

// colored reads the ConfigMaps with one color.
func (r *rig) colored(color string) reflector.Source[*corev1.ConfigMap] {
	return reflector.FromREST[*corev1.ConfigMap](r.reader.CoreV1().RESTClient(), "configmaps", "default",
		reflector.WithLabelSelector(labels.SelectorFromSet(labels.Set{"color": color})))
}

// paint creates or updates a ConfigMap so that it has the color.
func (r *rig) paint(name, color string) {
	GinkgoHelper()
	painted := configMap(name)
	painted.Labels = map[string]string{"color": color}
	_, err := r.writer.Update(r.ctx, painted, metav1.UpdateOptions{})
	if err != nil {
		_, err = r.writer.Create(r.ctx, painted, metav1.CreateOptions{})
	}
	Expect(err).NotTo(HaveOccurred())
}

// start runs inf until the end of the spec.
func (r *rig) start(inf *informer.Informer[*corev1.ConfigMap]) {
	GinkgoHelper()
	ctx, stop := context.WithCancel(r.ctx)
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	bubble.Cleanup(func() {
		stop()
		Expect(<-ended).To(Succeed())
	})
	Expect(inf.WaitForSync(r.ctx)).To(Succeed())
}

// joined is an informer over several colors.
func (r *rig) joined(colors ...string) (inf *informer.Informer[*corev1.ConfigMap], taken func() []string) {
	GinkgoHelper()
	var parts []informer.Part[*corev1.ConfigMap]
	for _, color := range colors {
		parts = append(parts, informer.Part[*corev1.ConfigMap]{Name: color, Source: r.colored(color)})
	}
	inf, err := informer.NewJoined(parts, informer.Options[*corev1.ConfigMap]{})
	Expect(err).NotTo(HaveOccurred())
	var calls []string // of one goroutine, read when it is asleep
	_, err = inf.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{
		AddFunc:    func(obj *corev1.ConfigMap, _ bool) { calls = append(calls, "add "+obj.Name) },
		UpdateFunc: func(_, obj *corev1.ConfigMap) { calls = append(calls, "update "+obj.Name) },
		DeleteFunc: func(d informer.Deleted[*corev1.ConfigMap]) {
			calls = append(calls, fmt.Sprintf("delete %s, exact %v", d.Last.Name, d.Exact))
		},
	})
	Expect(err).NotTo(HaveOccurred())
	r.start(inf)
	return inf, func() []string {
		synctest.Wait()
		defer func() { calls = nil }()
		return calls
	}
}

var _ = Describe("A selector", func() {
	// Case 13 (controller-runtime#1618).
	bubble.It("is applied before the limit: pages list everything that matches", func() {
		r := newRig()
		for k := range 40 {
			color := "red"
			if k%8 == 7 {
				color = "green"
			}
			r.paint(fmt.Sprintf("map-%02d", k), color)
		}
		inf, err := informer.New(r.colored("green"), informer.Options[*corev1.ConfigMap]{
			Reflector: reflector.Options{DisableWatchList: true, PageSize: 2},
		})
		Expect(err).NotTo(HaveOccurred())
		r.start(inf)
		matching := []string{"map-07", "map-15", "map-23", "map-31", "map-39"}
		Expect(names(cached(inf))).To(Equal(matching))
		Expect(r.wire.taken()["list"]).To(Equal(1), "a list of any version comes in one piece")
		r.paint("map-00", "green")
		inf.Relist()
		Expect(r.wire.taken()["list"]).To(Equal(3), "pages of two")
		Expect(names(cached(inf))).To(Equal(append([]string{"map-00"}, matching...)))
	})
})

var _ = Describe("An informer of several selectors", func() {
	bubble.It("tells of an object that moves from one to another, and of one that leaves them all", func() {
		r := newRig()
		r.paint("map", "red")
		inf, taken := r.joined("red", "green")
		Expect(taken()).To(Equal([]string{"add map"}))
		r.paint("map", "green")
		// Which of the two streams is read first is not for us to say.
		Expect(taken()).To(Or(
			Equal([]string{"update map"}),
			Equal([]string{"delete map, exact true", "add map"}),
		))
		Expect(cached(inf)).To(Equal(r.served()))
		r.paint("map", "blue")
		Expect(taken()).To(Equal([]string{"delete map, exact true"}))
		Expect(cached(inf)).To(BeEmpty())
	})

	bubble.It("has what the server has after random moves, cuts and compactions", func() {
		r := newRig()
		inf, _ := r.joined("red", "green")
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))
		for range 300 {
			switch n := random.IntN(20); {
			case n < 14:
				r.paint(fmt.Sprint("map-", random.IntN(5)), []string{"red", "green", "blue"}[random.IntN(3)])
			case n < 16:
				r.server.DropWatches()
			case n < 17:
				inf.Relist()
			case n < 18:
				repair := r.cut()
				r.paint(fmt.Sprint("map-", random.IntN(5)), "green")
				_, err := r.server.Compact(r.ctx)
				Expect(err).NotTo(HaveOccurred())
				time.Sleep(time.Minute)
				repair()
			default:
				time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
			}
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		list, err := r.writer.List(r.ctx, metav1.ListOptions{LabelSelector: "color in (red, green)"})
		Expect(err).NotTo(HaveOccurred())
		want := map[string]string{}
		for _, item := range list.Items {
			want[item.Name] = item.ResourceVersion
		}
		Expect(cached(inf)).To(Equal(want))
	})
})
