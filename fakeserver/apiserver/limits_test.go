package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/fakeserver/storage"
	"github.com/listwatch/listwatch/internal/bubble"
)

// stuck is a store whose reads wait for their context.
type stuck struct {
	*storage.Memory
	active bool
}

func (s *stuck) Get(ctx context.Context, key string, revision int64) (storage.KeyValue, error) {
	if s.active {
		<-ctx.Done()
		return storage.KeyValue{}, ctx.Err()
	}
	return s.Memory.Get(ctx, key, revision)
}

func stuckRig(options Options) (*rig, *stuck) {
	memory := storage.NewMemory()
	bubble.Cleanup(memory.Close)
	store := &stuck{Memory: memory}
	options.Store = store
	return newRig(bubble.TB(), options), store
}

var _ = Describe("the time of a request", func() {
	after := func(options Options, query string) (answer, time.Duration) {
		r, store := stuckRig(options)
		r.configMap("a", "")
		store.active = true
		began := time.Now()
		got := r.do("GET", configMaps+"/a"+query, "")
		return got, time.Since(began)
	}

	bubble.It("ends after a minute", func() {
		got, took := after(Options{}, "")
		Expect(got.code).To(Equal(http.StatusGatewayTimeout))
		Expect(got.at("message")).To(Equal("Timeout: request did not complete within the allotted timeout"))
		Expect(took).To(Equal(time.Minute))
	})

	bubble.It("is what the request asks for, and no more than the server allows", func() {
		_, took := after(Options{}, "?timeout=2s")
		Expect(took).To(Equal(2 * time.Second))
		_, took = after(Options{RequestTimeout: 3 * time.Second}, "?timeout=2m")
		Expect(took).To(Equal(3 * time.Second))
	})

	bubble.It("cannot be asked for in words", func() {
		got := inBubble().do("GET", configMaps+"?timeout=soon", "")
		Expect(got.code).To(Equal(http.StatusBadRequest))
		Expect(got.at("message")).To(HavePrefix("invalid timeout specified in the request URL"))
	})

	bubble.It("does not end watches", func() {
		r := inBubble()
		s := r.watchMaps("&timeout=1s&timeoutSeconds=300")
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		Expect(s.ended()).To(BeFalse())
	})
})

var _ = Describe("the number of requests", func() {
	bubble.It("is bounded if that was asked for, for those that read and those that write", func() {
		r, store := stuckRig(Options{MaxInFlight: 1, MaxMutatingInFlight: 1})
		r.configMap("a", "")
		watch := r.watchMaps("") // does not count
		Expect(watch.status()).To(Equal(http.StatusOK))
		store.active = true
		first := r.open(configMaps + "/a")
		synctest.Wait()
		refused := r.do("GET", configMaps+"/a", "")
		Expect(refused.code).To(Equal(http.StatusTooManyRequests))
		Expect(refused.header.Get("Retry-After")).To(Equal("1"))
		Expect(string(refused.body)).To(Equal("Too many requests, please try again later.\n"))
		store.active = false
		Expect(r.do("POST", configMaps, `{"metadata":{"name":"b"}}`).code).To(Equal(http.StatusCreated))
		first.cancel()
		<-first.done
		Expect(r.do("GET", configMaps+"/a", "").code).To(Equal(http.StatusOK))
	})
})

// metric returns the lines of /metrics that begin so.
func (r *rig) metric(prefix string) []string {
	recorder := httptest.NewRecorder()
	r.ServeHTTP(recorder, newRequest("GET", "/metrics", ""))
	lines := []string{}
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.HasPrefix(line, prefix) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

var _ = Describe("metrics", func() {
	bubble.It("count requests by what they are about", func() {
		r := inBubble()
		r.configMap("a", "")
		r.do("GET", configMaps+"/a", "")
		r.do("GET", configMaps+"/missing", "")
		r.do("GET", configMaps+"/a/nonsense", "")
		r.do("NONSENSE", configMaps, "")
		r.do("DELETE", configMaps+"/a?dryRun=All", "")
		Expect(r.metric("apiserver_request_total")).To(ContainElements(
			`apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 1`,
			`apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"} 1`,
			`apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"} 2`,
			`apiserver_request_total{code="405",component="apiserver",dry_run="",group="",resource="configmaps",scope="namespace",subresource="",verb="OTHER",version="v1"} 1`,
			`apiserver_request_total{code="200",component="apiserver",dry_run="All",group="",resource="configmaps",scope="resource",subresource="",verb="DELETE",version="v1"} 1`,
		))
		Expect(r.metric("nonsense")).To(BeEmpty())
	})

	bubble.It("count open watches and their events, and what caches measure", func() {
		r := inBubble()
		s := r.watchMaps("&allowWatchBookmarks=true")
		r.configMap("a", "")
		settle()
		const open = `apiserver_longrunning_requests{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"} `
		Expect(r.metric("apiserver_longrunning_requests")).To(ContainElement(open + "1"))
		Expect(r.metric("apiserver_watch_events_total")).To(ContainElement(`apiserver_watch_events_total{group="",resource="configmaps",version="v1"} 2`))
		Expect(r.metric("apiserver_watch_list_duration_seconds_count")).To(HaveLen(1))
		Expect(r.metric("apiserver_watch_cache_events_received_total")).To(ContainElement(HaveSuffix(`resource="configmaps"} 1`)))
		Expect(r.metric("watch_cache_capacity{")).NotTo(BeEmpty())
		s.cancel()
		<-s.done
		Expect(r.metric("apiserver_longrunning_requests")).To(ContainElement(open + "0"))
	})

	bubble.It("are those of one server", func() {
		one, other := inBubble(), inBubble()
		one.configMap("a", "")
		Expect(one.metric("apiserver_request_total")).NotTo(BeEmpty())
		Expect(other.metric("apiserver_request_total")).To(BeEmpty())
	})
})

var _ = Describe("the options of the cache", func() {
	bubble.It("reach it", func() {
		r := newRig(bubble.TB(), Options{Cache: cacher.Options{BookmarkPeriod: 2 * time.Second}})
		s := r.watchMaps("&allowWatchBookmarks=true")
		r.configMap("a", "")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		Expect(s.events()).To(ContainElement(HavePrefix("BOOKMARK")))
	})
})

var _ = Describe("events", func() {
	const path = "/api/v1/namespaces/default/events"

	bubble.It("are read from the store, however stale an answer may be", func() {
		r := inBubble()
		for _, name := range []string{"a", "b"} {
			r.must(http.StatusCreated, "POST", path, `{"metadata":{"name":"`+name+`"},"involvedObject":{"namespace":"default"}}`)
		}
		Expect(r.must(200, "GET", path+"?resourceVersion=0&limit=1", "").names()).To(Equal([]string{"a"}))
		first := r.must(200, "GET", path+"?limit=1", "")
		token := first.at("metadata.continue").(string)
		Expect(r.must(200, "GET", path+"?resourceVersion=0&limit=1&continue="+token, "").names()).To(Equal([]string{"b"}))
		began := time.Now()
		Expect(r.do("GET", path+"?resourceVersion=999", "").header.Get("Retry-After")).To(BeEmpty())
		Expect(r.do("GET", path+"/a?resourceVersion=999", "").code).To(Equal(http.StatusGatewayTimeout))
		Expect(r.do("GET", path+"/a?resourceVersion=x", "").code).To(Equal(http.StatusBadRequest))
		Expect(r.do("GET", path+"/a?resourceVersion=1", "").code).To(Equal(http.StatusOK))
		Expect(time.Since(began)).To(BeZero())
	})
})

var _ = Describe("the old way to watch", func() {
	const old = "/api/v1/watch/namespaces/default/configmaps"
	open := func(r *rig, path string) *stream {
		s := r.open(path)
		bubble.Cleanup(func() {
			s.cancel()
			<-s.done
		})
		settle()
		return s
	}

	bubble.It("begins with what there is, without a bookmark after it", func() {
		r := inBubble()
		version := r.configMap("a", "")
		s := open(r, old+"?allowWatchBookmarks=true")
		r.configMap("b", "")
		settle()
		Expect(s.events()).To(HaveExactElements("ADDED a@"+version, HavePrefix("ADDED b@")))
	})

	bubble.It("can be about one object", func() {
		r := inBubble()
		version := r.configMap("a", "")
		s := open(r, old+"/a?fieldSelector=metadata.name%3Da")
		r.configMap("b", "")
		settle()
		Expect(s.events()).To(Equal([]string{"ADDED a@" + version}))
		got := r.do("GET", old+"/a?fieldSelector=metadata.name%3Db", "")
		Expect(got.code).To(Equal(http.StatusBadRequest))
		Expect(got.at("message")).To(Equal("fieldSelector metadata.name doesn't match requested name"))
	})

	bubble.It("is for watching only", func() {
		r := inBubble()
		Expect(r.do("POST", old, `{"metadata":{"name":"a"}}`).code).To(Equal(http.StatusMethodNotAllowed))
		Expect(r.do("GET", old+"/a/status", "").code).To(Equal(http.StatusNotFound))
		Expect(r.do("GET", "/api/v1/watch", "").code).To(Equal(http.StatusNotFound))
	})
})

var _ = Describe("shards", func() {
	const selector = "?shardSelector=shardRange(object.metadata.uid,'0x0000000000000000','0x8000000000000000')"
	bubble.It("are parts of a collection if that is switched on", func() {
		r := newRig(bubble.TB(), Options{Cache: cacher.Options{Sharding: true}})
		const objects = 64 // uids are random: so many are never in one half
		for i := range objects {
			r.configMap(fmt.Sprintf("a%02d", i), "")
		}
		got := r.must(http.StatusOK, "GET", configMaps+selector, "")
		Expect(len(got.names())).To(And(BeNumerically(">", 0), BeNumerically("<", objects)))
		Expect(got.at("metadata.shardInfo.selector")).To(ContainSubstring("shardRange"))
		Expect(r.do("GET", configMaps+"?shardSelector=half", "").code).To(Equal(http.StatusBadRequest))
	})

	bubble.It("are not looked at otherwise, as by a real server", func() {
		r := inBubble()
		r.configMap("a", "")
		got := r.must(http.StatusOK, "GET", configMaps+selector, "")
		Expect(got.names()).To(Equal([]string{"a"}))
		Expect(got.at("metadata.shardInfo")).To(BeNil())
	})
})
