package factory_test

import (
	"context"
	"io"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/factory"
	"github.com/listwatch/listwatch/internal/bubble"
	"github.com/listwatch/listwatch/reflector"
)

// waiting is a factory for a scripted server, with an informer of widgets that
// waits for them.
//
// bubble: made by newWaiting inside one
type waiting struct {
	*factory.Factory
	server  *script
	widgets *informer.Informer[*unstructured.Unstructured]
	told    []string
}

func newWaiting(server *script) *waiting {
	server.version, server.open = 1, map[*io.PipeWriter]string{}
	w := &waiting{server: server}
	w.Factory = must(factory.New(&rest.Config{Host: "http://server", Transport: server, QPS: -1},
		factory.Options{Reflector: reflector.Options{DisableWatchList: true}, Defaults: []factory.Option{factory.WithWaiting()}}))
	w.widgets = must(factory.For[*unstructured.Unstructured](w.Factory, factory.WithResource(widgets)))
	must(w.widgets.AddHandler(informer.HandlerFuncs[*unstructured.Unstructured]{
		AddFunc: func(obj *unstructured.Unstructured, _ bool) { w.told = append(w.told, "add "+obj.GetName()) },
		DeleteFunc: func(d informer.Deleted[*unstructured.Unstructured]) {
			w.told = append(w.told, "delete "+d.Last.GetName())
			Expect(d.Exact).To(BeFalse())
		},
	}))
	w.Start(bubble.Context())
	bubble.Cleanup(w.Shutdown)
	return w
}

// pass lets time pass.
func (w *waiting) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// phase is that of the informer.
func (w *waiting) phase() reflector.Phase { return w.widgets.Status().Phase }

var _ = Describe("An informer that waits for its resource", func() {
	bubble.It("says what is absent, and goes on when the definition is ready", func() {
		w := newWaiting(&script{})
		w.pass(time.Second)
		Expect(w.phase()).To(Equal(reflector.Absent))
		soon, cancel := context.WithTimeout(bubble.Context(), time.Minute)
		defer cancel()
		Expect(w.WaitForSync(soon)).To(MatchError(And(ContainSubstring("absent since"),
			ContainSubstring(`resource "widgets" in API group "example.com" version "v1" is absent from the server`))))
		w.pass(24 * time.Hour) // few requests: the definition is watched
		Expect(w.server.count("list widgets")).To(BeNumerically("<", 300))
		w.server.change(true, false) // the definition exists, and is not served yet
		w.pass(2 * time.Second)
		Expect(w.widgets.Status().Synced).To(BeFalse())
		w.server.change(true, true)
		w.pass(time.Second)
		Expect(w.phase()).To(Equal(reflector.Watching))
		Expect(w.WaitForSync(bubble.Context())).To(Succeed())
		Expect(w.told).To(Equal([]string{"add w"}))
		lists := w.server.count("list customresourcedefinitions")
		w.pass(time.Hour)
		Expect(w.server.count("list customresourcedefinitions")).To(Equal(lists)) // only while it waits
	})

	bubble.It("asks again soon when a definition is served only after it was seen, however long it was absent", func() {
		w := newWaiting(&script{})
		w.pass(24*time.Hour + time.Minute)
		w.server.change(true, false)
		w.pass(0)
		asked := w.server.count("list widgets")
		w.server.serve()
		w.pass(time.Second)
		Expect(w.phase()).To(Equal(reflector.Watching))
		Expect(w.server.count("list widgets")).To(Equal(asked + 1))
	})

	bubble.It("asks less and less for what is defined and never served", func() {
		w := newWaiting(&script{defined: true})
		w.pass(time.Hour)
		Expect(w.phase()).To(Equal(reflector.Absent))
		Expect(w.server.count("list widgets")).To(And(BeNumerically(">", 110), BeNumerically("<", 135)))
	})

	bubble.It("lets go of the objects when the definition is removed, and waits again", func() {
		w := newWaiting(&script{defined: true, served: true})
		Expect(w.WaitForSync(bubble.Context())).To(Succeed())
		w.pass(time.Minute)
		w.server.change(false, false)
		w.pass(10 * time.Second)
		Expect(w.phase()).To(Equal(reflector.Absent))
		Expect(w.told).To(Equal([]string{"add w", "delete w"}))
		Expect(w.widgets.Snapshot().Len()).To(Equal(0))
		soon, cancel := context.WithTimeout(bubble.Context(), time.Minute)
		defer cancel()
		Expect(w.WaitForSync(soon)).To(MatchError(informer.ErrNotSynced))
		w.server.change(true, true)
		Expect(w.WaitForSync(bubble.Context())).To(Succeed())
		synctest.Wait()
		Expect(w.told).To(Equal([]string{"add w", "delete w", "add w"}))
		Expect(w.widgets.Status().Reflector.Relists).To(Equal(map[reflector.RelistReason]int64{
			reflector.RelistInitial: 1, reflector.RelistAbsent: 1, reflector.RelistAppeared: 1,
		}))
	})

	bubble.It("keeps the objects over a few 404 if the definition may be there", func() {
		w := newWaiting(&script{defined: true, served: true})
		Expect(w.WaitForSync(bubble.Context())).To(Succeed())
		w.pass(time.Minute)
		w.server.change(true, false)
		w.pass(time.Second)
		w.server.change(true, true)
		w.pass(10 * time.Second)
		Expect(w.told).To(Equal([]string{"add w"}))
		Expect(w.phase()).To(Equal(reflector.Watching))
	})

	bubble.It("asks now and then where definitions may not be read", func() {
		w := newWaiting(&script{forbidden: true})
		w.pass(time.Hour)
		Expect(w.phase()).To(Equal(reflector.Absent))
		Expect(w.server.count("list widgets")).To(And(BeNumerically(">", 100), BeNumerically("<", 150)))
		w.server.change(true, true)
		w.pass(31 * time.Second)
		Expect(w.WaitForSync(bubble.Context())).To(Succeed())
		Expect(w.told).To(Equal([]string{"add w"}))
	})
})
