package apiserver

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listwatch/listwatch/internal/bubble"
)

// watch opens a watch of config maps and waits until it is quiet.
func (r *rig) watchMaps(query string, header ...string) *stream {
	s := r.open(configMaps+"?watch=true"+query, header...)
	bubble.Cleanup(func() {
		s.cancel()
		<-s.done
	})
	synctest.Wait()
	return s
}

// unread is a connection that takes nothing.
//
// bubble: made by specs of bubble.It only
type unread struct {
	stream
	expired chan struct{}
	once    sync.Once
	timer   *time.Timer
}

func (u *unread) Write([]byte) (int, error) {
	<-u.expired
	return 0, os.ErrDeadlineExceeded
}

func (u *unread) SetWriteDeadline(at time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.timer != nil {
		u.timer.Stop()
	}
	if !at.IsZero() {
		u.timer = time.AfterFunc(time.Until(at), func() { u.once.Do(func() { close(u.expired) }) })
	}
	return nil
}

// settle waits until the cachers and watches have seen everything.
//
// bubble: called by specs of bubble.It only
func settle() {
	time.Sleep(time.Millisecond)
	synctest.Wait()
}

var _ = Describe("watching", func() {
	bubble.It("sends the headers before there is an event", func() {
		s := inBubble().watchMaps("")
		Expect(s.status()).To(Equal(200))
		Expect(s.Header().Get("Content-Type")).To(Equal("application/json"))
		Expect(s.flushed()).To(BeEmpty())
		Expect(s.ended()).To(BeFalse())
	})
	bubble.It("without a version begins with what there is, and marks its end if bookmarks are allowed", func() {
		r := inBubble()
		a, b := r.configMap("a", ""), r.configMap("b", "")
		with := r.watchMaps("&allowWatchBookmarks=true")
		without := r.watchMaps("")
		Expect(with.events()).To(Equal([]string{"ADDED a@" + a, "ADDED b@" + b, "END @" + b}))
		Expect(without.events()).To(Equal([]string{"ADDED a@" + a, "ADDED b@" + b}))
	})
	bubble.It("from a version sends what came after it, in order", func() {
		r := inBubble()
		a := r.configMap("a", "")
		b := r.configMap("b", "")
		s := r.watchMaps("&resourceVersion=" + a)
		r.must(200, "PUT", configMaps+"/a", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
		r.must(200, "DELETE", configMaps+"/b", "")
		settle()
		events := s.events()
		Expect(events).To(HaveLen(3))
		Expect(events[0]).To(Equal("ADDED b@" + b))
		Expect(events[1]).To(HavePrefix("MODIFIED a@"))
		Expect(events[2]).To(HavePrefix("DELETED b@"))
		Expect(events[2]).NotTo(HaveSuffix("@" + b))
	})
	bubble.It("follows objects into and out of its selector", func() {
		r := inBubble()
		s := r.watchMaps("&resourceVersion=0&labelSelector=x%3D1")
		a := r.configMap("a", `,"labels":{"x":"1"}`)
		r.must(200, "PUT", configMaps+"/a", `{"metadata":{"name":"a"}}`)
		back := r.must(200, "PUT", configMaps+"/a", `{"metadata":{"name":"a","labels":{"x":"1"}}}`)
		settle()
		events := s.events()
		Expect(events).To(HaveLen(3))
		Expect(events[0]).To(Equal("ADDED a@" + a))
		Expect(events[1]).To(HavePrefix("DELETED a@"))
		Expect(events[2]).To(Equal(fmt.Sprint("ADDED a@", back.at("metadata.resourceVersion"))))
	})
	bubble.It("ends without an event when its timeout passes", func() {
		s := inBubble().watchMaps("&timeoutSeconds=10")
		time.Sleep(9 * time.Second)
		Expect(s.ended()).To(BeFalse())
		time.Sleep(time.Second)
		synctest.Wait()
		Expect(s.ended()).To(BeTrue())
		Expect(s.flushed()).To(BeEmpty())
	})
	bubble.It("without a timeout lasts from half an hour to an hour", func() {
		s := inBubble().watchMaps("")
		time.Sleep(30*time.Minute - time.Second)
		Expect(s.ended()).To(BeFalse())
		time.Sleep(30*time.Minute + 2*time.Second)
		synctest.Wait()
		Expect(s.ended()).To(BeTrue())
	})
	bubble.It("sends bookmarks while nothing happens", func() {
		r := inBubble()
		version := r.configMap("a", "")
		s := r.watchMaps("&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=" + version)
		b := r.configMap("b", "")
		r.configMap("c", "")
		r.must(200, "DELETE", configMaps+"/c", "")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		events := s.events()
		Expect(len(events)).To(BeNumerically(">=", 4))
		Expect(events[0]).To(Equal("ADDED b@" + b))
		Expect(events[3]).To(HavePrefix("BOOKMARK @"))
	})
	bubble.It("from a version that was forgotten gets one ERROR event", func() {
		r := inBubble()
		a := r.configMap("a", "")
		r.configMap("b", "")
		_, err := r.Compact(bubble.Context())
		Expect(err).NotTo(HaveOccurred())
		r.configMap("c", "")
		s := r.watchMaps("&resourceVersion=" + a)
		settle()
		Expect(s.status()).To(Equal(200))
		Expect(s.events()).To(Equal([]string{"ERROR Expired"}))
		Expect(s.ended()).To(BeTrue())
	})
	bubble.It("ends in an orderly way when it is dropped, and goes on from where it was", func() {
		r := inBubble()
		version := r.configMap("a", "")
		s := r.watchMaps("&resourceVersion=" + version)
		Expect(r.DropWatches()).To(Equal(1))
		settle()
		Expect(s.ended()).To(BeTrue())
		Expect(s.events()).To(BeEmpty())
		b := r.configMap("b", "")
		again := r.watchMaps("&resourceVersion=" + version)
		Expect(again.events()).To(Equal([]string{"ADDED b@" + b}))
	})
	bubble.It("ends when the server closes, which waits for it", func() {
		r := inBubble()
		s := r.watchMaps("")
		r.Close()
		synctest.Wait() // for the goroutine that called the handler
		Expect(s.ended()).To(BeTrue())
		Expect(r.do("GET", configMaps, "").code).To(Equal(http.StatusServiceUnavailable))
		r.Close()
	})
	bubble.It("by a client that does not read holds Close up for a second only", func() {
		r := inBubble()
		client := &unread{stream: stream{header: http.Header{}}, expired: make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.ServeHTTP(client, newRequest("GET", configMaps+"?watch=true", ""))
		}()
		synctest.Wait()
		r.configMap("a", "")
		settle()
		start := time.Now()
		r.Close()
		Expect(time.Since(start)).To(Equal(time.Second))
		<-done
	})
	bubble.It("ends in its time although the client reads nothing", func() {
		r := inBubble()
		r.configMap("a", "")
		client := &unread{stream: stream{header: http.Header{}}, expired: make(chan struct{})}
		start := time.Now()
		r.ServeHTTP(client, newRequest("GET", configMaps+"?watch=true&timeoutSeconds=60", ""))
		Expect(time.Since(start)).To(Equal(time.Minute + closeGrace))
		Expect(r.DropWatches()).To(BeZero())
	})
	bubble.It("of another version and group shows the same objects", func() {
		r := inBubble()
		events := "/apis/events.k8s.io/v1/namespaces/default/events"
		s := r.open(events + "?watch=true")
		defer s.cancel()
		created := r.must(201, "POST", "/api/v1/namespaces/default/events",
			`{"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p"},"message":"hello"}`)
		settle()
		Expect(s.events()).To(Equal([]string{fmt.Sprint("ADDED e@", created.at("metadata.resourceVersion"))}))
		shown := r.must(200, "GET", events+"/e", "")
		Expect(shown.at("regarding.name")).To(Equal("p"))
		Expect(shown.at("note")).To(Equal("hello"))
		Expect(r.must(200, "GET", events+"?fieldSelector=regarding.name%3Dp", "").names()).To(Equal([]string{"e"}))
	})
	DescribeTable("refuses", func(query string, code int, message string) {
		bubble.Run(func() {
			got := inBubble().do("GET", configMaps+"?watch=true&timeoutSeconds=1"+query, "")
			Expect(got.code).To(Equal(code))
			Expect(got.at("message")).To(ContainSubstring(message))
		})
	},
		Entry("initial events without a match", "&sendInitialEvents=true", 422, "sendInitialEvents requires setting resourceVersionMatch"),
		Entry("a match without initial events", "&resourceVersionMatch=NotOlderThan", 422, "forbidden for watch unless sendInitialEvents"),
		Entry("an odd version", "&resourceVersion=abc", 500, `resourceVersion: Invalid value: "abc": strconv.ParseUint`),
		Entry("an odd selector", "&labelSelector=!!", 400, "unable to parse requirement: found '!', expected: identifier"),
		Entry("an unknown field", "&fieldSelector=foo%3Dbar", 400, `"foo" is not a known field selector: only "metadata.name", "metadata.namespace"`),
	)
	bubble.It("is not to be had in YAML", func() {
		Expect(inBubble().do("GET", configMaps+"?watch=true", "", "Accept", "application/yaml").code).To(Equal(http.StatusNotAcceptable))
	})
})

// frames splits a protobuf stream and decodes the objects.
func frames(data []byte) (types []string, objects []runtime.Object) {
	for len(data) >= 4 {
		size := binary.BigEndian.Uint32(data)
		var event metav1.WatchEvent
		Expect(event.Unmarshal(data[4 : 4+size])).To(Succeed())
		obj, _, err := metaCodec.Decode(event.Object.Raw, nil, nil)
		Expect(err).NotTo(HaveOccurred())
		types, objects = append(types, event.Type), append(objects, obj)
		data = data[4+size:]
	}
	Expect(data).To(BeEmpty())
	return types, objects
}

var _ = Describe("forms of a watch", func() {
	bubble.It("protobuf is framed by length", func() {
		r := inBubble()
		r.configMap("a", "")
		s := r.watchMaps("&allowWatchBookmarks=true", "Accept", "application/vnd.kubernetes.protobuf")
		Expect(s.Header().Get("Content-Type")).To(Equal("application/vnd.kubernetes.protobuf;stream=watch"))
		types, objects := frames(s.flushed())
		Expect(types).To(Equal([]string{"ADDED", "BOOKMARK"}))
		Expect(objects[0].(*corev1.ConfigMap).Name).To(Equal("a"))
		Expect(objects[1].(*corev1.ConfigMap).Annotations).To(HaveKeyWithValue(metav1.InitialEventsAnnotationKey, "true"))
	})
	bubble.It("metadata alone, in both formats", func() {
		r := inBubble()
		r.must(201, "POST", configMaps, `{"metadata":{"name":"a"},"data":{"secret":"x"}}`)
		as := ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		json := r.watchMaps("", "Accept", "application/json"+as)
		Expect(json.events()).To(HaveLen(1))
		Expect(bytes.Contains(json.flushed(), []byte(`"data":`))).To(BeFalse())
		Expect(string(json.flushed())).To(ContainSubstring(`"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"`))
		proto := r.watchMaps("", "Accept", "application/vnd.kubernetes.protobuf"+as+",application/json")
		_, objects := frames(proto.flushed())
		Expect(objects[0].(*metav1.PartialObjectMetadata).Name).To(Equal("a"))
	})
	bubble.It("errors are a Status in the same format", func() {
		r := inBubble()
		a := r.configMap("a", "")
		r.configMap("b", "")
		_, err := r.Compact(bubble.Context())
		Expect(err).NotTo(HaveOccurred())
		s := r.watchMaps("&resourceVersion="+a, "Accept", "application/vnd.kubernetes.protobuf")
		settle()
		types, objects := frames(s.flushed())
		Expect(types).To(Equal([]string{"ERROR"}))
		Expect(objects[0].(*metav1.Status).Reason).To(Equal(metav1.StatusReasonExpired))
	})
})
