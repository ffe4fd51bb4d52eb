package apiserver

import (
	"fmt"
	"net/http"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/internal/bubble"
)

// slow is a stream whose client begins to read when it is told to.
type slow struct {
	stream
	reads chan struct{}
}

func (s *slow) Write(data []byte) (int, error) {
	<-s.reads
	return s.stream.Write(data)
}

// Faults that users met in other servers, as a client sees them.
var _ = Describe("a watch over HTTP", func() {
	const initial = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

	bubble.It("cut in the middle of its initial events is begun again without loss (kubernetes#74022)", func() {
		r := inBubble()
		a, b := r.configMap("a", ""), r.configMap("b", "")
		cut := r.watchMaps("&resourceVersion=0")
		cut.cancel()
		r.must(200, "DELETE", configMaps+"/a", "")
		settle()
		Expect(r.watchMaps("&resourceVersion=0" + initial).events()).To(HaveExactElements("ADDED b@"+b, HavePrefix("END @")))
		// A client that has seen a only resumes there.
		Expect(r.watchMaps("&resourceVersion=" + a).events()).To(HaveExactElements("ADDED b@"+b, HavePrefix("DELETED a@")))
	})
	bubble.It("from a version does not send that version (kubernetes#24004)", func() {
		r := inBubble()
		a := r.configMap("a", "")
		s := r.watchMaps("&resourceVersion=" + a)
		Expect(s.events()).To(BeEmpty())
		b := r.configMap("b", "")
		settle()
		Expect(s.events()).To(Equal([]string{"ADDED b@" + b}))
	})
	bubble.It("sends deletions with their own version (kubernetes#58545)", func() {
		r := inBubble()
		a := r.configMap("a", `,"labels":{"x":"1"}`)
		s := r.watchMaps("&labelSelector=x%3D1&resourceVersion=" + a)
		left := r.must(200, "PUT", configMaps+"/a", `{"metadata":{"name":"a"}}`).at("metadata.resourceVersion")
		all := r.watchMaps(fmt.Sprint("&resourceVersion=", left))
		r.must(200, "DELETE", configMaps+"/a", "")
		after := r.configMap("z", "")
		settle()
		Expect(s.events()).To(Equal([]string{fmt.Sprint("DELETED a@", left)}))
		var deletion, next int
		_, err := fmt.Sscan(after, &next)
		Expect(err).NotTo(HaveOccurred())
		_, err = fmt.Sscanf(all.events()[0], "DELETED a@%d", &deletion)
		Expect(err).NotTo(HaveOccurred())
		Expect(deletion).To(Equal(next - 1))
	})
	for _, form := range []struct{ name, accept string }{
		{"objects", "application/json"},
		{"metadata", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"},
	} {
		bubble.It("of "+form.name+" marks the end of initial events also when there are none (kubernetes#122805, #135895)", func() {
			r := inBubble()
			Expect(r.watchMaps(initial, "Accept", form.accept).events()).To(HaveExactElements(HavePrefix("END @")))
			a := r.configMap("a", "")
			Expect(r.watchMaps(initial, "Accept", form.accept).events()).To(Equal([]string{"ADDED a@" + a, "END @" + a}))
		})
	}
	bubble.It("opened after a list tells what was deleted in between (kubernetes#135959)", func() {
		r := inBubble()
		r.configMap("a", "")
		list := r.must(200, "GET", configMaps, "")
		r.must(200, "DELETE", configMaps+"/a", "")
		s := r.watchMaps(fmt.Sprint("&resourceVersion=", list.at("metadata.resourceVersion")))
		settle()
		Expect(s.events()).To(HaveExactElements(HavePrefix("DELETED a@")))
	})
	bubble.It("falls behind without harm to others while the store is slow to tell (kubernetes#139766)", func() {
		r := inBubble()
		a := r.configMap("a", "")
		s := r.watchMaps("&resourceVersion=" + a)
		r.store.Hold()
		b := r.configMap("b", "")
		begun := time.Now()
		Expect(r.must(200, "GET", configMaps, "").names()).To(Equal([]string{"a", "b"}))
		Expect(time.Since(begun)).To(Equal(3 * time.Second))
		Expect(r.must(200, "GET", configMaps+"?resourceVersion=0", "").names()).To(Equal([]string{"a"}))
		late := r.do("GET", configMaps+"?resourceVersion="+b, "")
		Expect(late.code).To(Equal(504))
		Expect(late.header.Get("Retry-After")).To(Equal("1"))
		Expect(s.events()).To(BeEmpty())
		r.store.Release()
		synctest.Wait()
		Expect(s.events()).To(Equal([]string{"ADDED b@" + b}))
	})
	for _, tell := range []bool{false, true} {
		bubble.It(fmt.Sprint("that nobody reads ends, harms nobody, and can be resumed; told why: ", tell, " (client-go#1103)"), func() {
			r := newRig(bubble.TB(), Options{Cache: cacher.Options{LagLimit: 3, TellSlow: tell}})
			r.must(200, "GET", configMaps, "")
			client := &slow{stream{header: http.Header{}, done: make(chan struct{})}, make(chan struct{})}
			go func() {
				defer close(client.done)
				r.ServeHTTP(client, newRequest("GET", configMaps+"?watch=true", ""))
			}()
			synctest.Wait()
			begun, versions := time.Now(), []string{}
			for i := range 9 {
				versions = append(versions, r.configMap(fmt.Sprint("a", i), ""))
				settle()
			}
			Expect(time.Since(begun)).To(BeNumerically("<", time.Second))
			close(client.reads)
			<-client.done
			events := client.events()
			Expect(events[0]).To(Equal("ADDED a0@" + versions[0]))
			Expect(events[len(events)-1] == "ERROR Expired").To(Equal(tell), "%q", events)
			Expect(len(events)).To(BeNumerically("<", 9))
			Expect(r.watchMaps("&resourceVersion=" + versions[0]).events()).To(HaveLen(8))
		})
	}
})
