package reflector

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const protoType = "application/vnd.kubernetes.protobuf"

// encoded is an object as a server sends it, with its kind.
func encoded(t testing.TB, kind string, object runtime.Object, inProto bool) []byte {
	object.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	if inProto {
		return encode(t, protoEncoder, object)
	}
	return bytes.TrimSpace(encode(t, jsonEncoder, object))
}

// eventFrame is a watch event as it goes over the wire.
func eventFrame(t testing.TB, event watch.EventType, kind string, object runtime.Object, inProto bool) []byte {
	raw := encoded(t, kind, object, inProto)
	if !inProto {
		return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", event, raw)
	}
	body, err := (&metav1.WatchEvent{Type: string(event), Object: runtime.RawExtension{Raw: raw}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// crumbs writes data in random pieces.
func crumbs(w http.ResponseWriter, data []byte) {
	for len(data) > 0 {
		n := min(len(data), 1+rand.IntN(20_000))
		_, _ = w.Write(data[:n])
		w.(http.Flusher).Flush()
		data = data[n:]
	}
}

// bulkyPod has some size, so that many of them do not fit into one buffer.
func bulkyPod(i int) *corev1.Pod {
	p := pod(fmt.Sprintf("pod-%05d", i), strconv.Itoa(100+i))
	p.UID = types.UID(fmt.Sprintf("uid-%d", i))
	p.Annotations = map[string]string{"text": strings.Repeat(`}{"\`, rand.IntN(500))}
	return p
}

// podServer lists and watches pods in pages, in either encoding, and notes what
// it was asked.
type podServer struct {
	t       *testing.T
	pods    []*corev1.Pod
	inProto bool

	mu    sync.Mutex
	asked []string
}

func (s *podServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	s.mu.Lock()
	s.asked = append(s.asked, query.Get("continue"))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if s.inProto {
		w.Header().Set("Content-Type", protoType)
	}
	if query.Get("watch") != "" {
		var stream []byte
		for _, p := range s.pods {
			stream = append(stream, eventFrame(s.t, watch.Added, "Pod", p.DeepCopy(), s.inProto)...)
		}
		end := pod("", "99999")
		end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		crumbs(w, append(stream, eventFrame(s.t, watch.Bookmark, "Pod", end, s.inProto)...))
		return
	}
	from, _ := strconv.Atoi(query.Get("continue"))
	to := len(s.pods)
	if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 {
		to = min(to, from+limit)
	}
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "99999"}}
	for _, p := range s.pods[from:to] {
		list.Items = append(list.Items, *p.DeepCopy())
	}
	if to < len(s.pods) {
		list.Continue = strconv.Itoa(to)
	}
	crumbs(w, encoded(s.t, "PodList", list, s.inProto))
}

// encodings runs a test for both, in a bubble, with a server of n pods.
func encodings(t *testing.T, n int, test func(t *testing.T, server *podServer, source StreamingSource[*corev1.Pod])) {
	for _, inProto := range []bool{false, true} {
		t.Run(map[bool]string{false: "JSON", true: "protobuf"}[inProto], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &podServer{t: t, inProto: inProto}
				for i := range n {
					server.pods = append(server.pods, bulkyPod(i))
				}
				test(t, server, FromREST[*corev1.Pod](serve(t, server.ServeHTTP), "pods", "").(StreamingSource[*corev1.Pod]))
			})
		})
	}
}

// theSamePods compares what came with what was sent.
func theSamePods(t *testing.T, got, sent []*corev1.Pod) {
	t.Helper()
	if len(got) != len(sent) {
		t.Fatalf("%d pods, want %d", len(got), len(sent))
	}
	for i := range got {
		same(t, fmt.Sprintf("pod %d", i), got[i], sent[i])
	}
}

func TestAListStreamsOverItsPagesInOrder(t *testing.T) {
	encodings(t, 500, func(t *testing.T, server *podServer, source StreamingSource[*corev1.Pod]) {
		list, err := source.ListStream(t.Context(), metav1.ListOptions{Limit: 120}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer list.Close()
		var got []*corev1.Pod
		for pages := 0; pages < 5; {
			part, err := list.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range part.Items {
				got = append(got, item.Object)
			}
			if part.EndOfPage {
				pages++
				want(t, "version", part.ResourceVersion, "99999")
				want(t, "last", part.Continue == "", pages == 5)
			}
		}
		theSamePods(t, got, server.pods)
		want(t, "pages asked for", strings.Join(server.asked, ","), ",120,240,360,480")
	})
}

func TestAWatchIsReadInOrder(t *testing.T) {
	encodings(t, 500, func(t *testing.T, server *podServer, source StreamingSource[*corev1.Pod]) {
		stream, err := source.Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		var got []*corev1.Pod
		for {
			event, err := stream.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if event.Type == watch.Bookmark {
				want(t, "end of the initial events", event.InitialEventsEnd, true)
				break
			}
			got = append(got, event.Object)
		}
		theSamePods(t, got, server.pods)
		if _, err := stream.Next(t.Context()); err != io.EOF {
			t.Errorf("after the last event: %v", err)
		}
	})
}

func TestTheNextPageIsAskedForBeforeThisOneIsTaken(t *testing.T) {
	encodings(t, 300, func(t *testing.T, server *podServer, source StreamingSource[*corev1.Pod]) {
		list, err := source.ListStream(t.Context(), metav1.ListOptions{Limit: 100}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer list.Close()
		part, err := list.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want(t, "in the middle of the first page", part.EndOfPage, false)
		if len(server.asked) < 2 {
			t.Error("the second page was not asked for")
		}
	})
}

func TestAPageIsReadWithoutTheNext(t *testing.T) {
	encodings(t, 100, func(t *testing.T, server *podServer, source StreamingSource[*corev1.Pod]) {
		page, err := source.List(t.Context(), metav1.ListOptions{Limit: 60})
		if err != nil {
			t.Fatal(err)
		}
		theSamePods(t, page.Items, server.pods[:60])
		want(t, "token", page.Continue, "60")
		want(t, "requests", len(server.asked), 1)
	})
}

// A bubble does not end before the last goroutine.
func TestACloseAtAnyMomentLeavesNothingBehind(t *testing.T) {
	encodings(t, 300, func(t *testing.T, server *podServer, source StreamingSource[*corev1.Pod]) {
		for reads := range 6 {
			list, err := source.ListStream(t.Context(), metav1.ListOptions{Limit: 100}, nil)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := source.Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for range reads {
				if _, err := list.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := stream.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			list.Close()
			list.Close()
			stream.Close()
			stream.Close()
		}
	})
}

func TestKnownObjectsAreNotDecoded(t *testing.T) {
	encodings(t, 300, func(t *testing.T, server *podServer, source StreamingSource[*corev1.Pod]) {
		known := func(key string) (types.UID, string, bool) {
			var i int
			if _, err := fmt.Sscanf(key, "ns/pod-%05d", &i); err != nil {
				t.Errorf("asked about %q", key)
			}
			switch i % 4 {
			case 0:
				return server.pods[i].UID, server.pods[i].ResourceVersion, true
			case 1:
				return server.pods[i].UID, "other", true
			case 2:
				return "other", server.pods[i].ResourceVersion, true
			}
			return "", "", false
		}
		check := func(i int, key string, object *corev1.Pod) {
			t.Helper()
			if i%4 == 0 {
				want(t, "known key", key, "ns/"+server.pods[i].Name)
				want(t, "not decoded", object, nil)
				return
			}
			want(t, "decoded", object.Name, server.pods[i].Name)
			want(t, "known", key, "")
		}
		list, err := source.ListStream(t.Context(), metav1.ListOptions{Limit: 120}, known)
		if err != nil {
			t.Fatal(err)
		}
		defer list.Close()
		for n := 0; n < len(server.pods); {
			part, err := list.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range part.Items {
				check(n, item.Known, item.Object)
				n++
			}
		}
		stream, err := source.WatchKnown(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)}, known)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		for n := range server.pods {
			event, err := stream.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			check(n, event.Known, event.Object)
			want(t, "version", event.ResourceVersion, server.pods[n].ResourceVersion)
		}
	})
}

func TestInitialEventsAfterOneThatIsNotADDEDAreAllDecoded(t *testing.T) {
	for _, inProto := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				for _, frame := range []watch.EventType{watch.Added, watch.Modified, watch.Added} {
					_, _ = w.Write(eventFrame(t, frame, "Pod", pod("a", "5"), inProto))
				}
			})
			source := FromREST[*corev1.Pod](client, "pods", "").(StreamingSource[*corev1.Pod])
			stream, err := source.WatchKnown(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)}, func(string) (types.UID, string, bool) { return "", "5", true })
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			for _, known := range []string{"ns/a", "", ""} {
				event, err := stream.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				want(t, "known", event.Known, known)
				want(t, "decoded", event.Object == nil, known != "")
			}
		})
	}
}

// answersOnce serves a body as it is, for a list or a watch.
func answersOnce(t *testing.T, body []byte) Source[*corev1.Pod] {
	return FromREST[*corev1.Pod](serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }), "pods", "")
}

func TestAListThatIsNoneIsAnErrorAndAnItemOfAnotherTypeIsLeftOut(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	mixed := fmt.Sprintf(`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[%s,%s]}`,
		encoded(t, "Pod", pod("a", "1"), false), encoded(t, "Node", node, false))
	for name, test := range map[string]struct {
		body    string
		class   failureClass
		items   int
		skipped int
	}{
		"table":             {body: `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"rows":[]}`, class: classDecode},
		"table with items":  {body: `{"kind":"Table","apiVersion":"meta.k8s.io/v1","items":[]}`, class: classDecode},
		"status":            {body: `{"kind":"Status","apiVersion":"v1","metadata":{}}`, class: classDecode},
		"other list":        {body: string(encoded(t, "NodeList", &corev1.NodeList{Items: []corev1.Node{*node}}, false)), class: classDecode},
		"other proto list":  {body: string(encoded(t, "NodeList", &corev1.NodeList{Items: []corev1.Node{*node}}, true)), class: classDecode},
		"a page of a proxy": {body: "<html>come back later</html>", class: classDecode},
		"nothing":           {body: "", class: classDecode},
		"cut":               {body: mixed[:len(mixed)-3], class: classDecode},
		"cut proto":         {body: string(encoded(t, "PodList", podList("1", pod("a", "1")), true)[:60]), class: classDecode},
		"broken item":       {body: `{"items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":5}}]}`, class: classDecode},
		"odd item":          {body: `{"items":[5]}`, class: classDecode},
		"mixed":             {body: mixed, items: 1, skipped: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				page, err := answersOnce(t, []byte(test.body)).List(t.Context(), metav1.ListOptions{})
				if (err != nil) != (test.items == 0) || err != nil && classify(err).class != test.class {
					t.Fatalf("error %v", err)
				}
				want(t, "items", len(page.Items), test.items)
				want(t, "left out", len(page.Skipped), test.skipped)
			})
		})
	}
}

func TestAWatchInProtobufSaysWhatIsWrongWithIt(t *testing.T) {
	gone := onWire(apierrors.NewResourceExpired("too old"))
	whole := eventFrame(t, watch.Added, "Pod", pod("a", "1"), true)
	for name, test := range map[string]struct {
		body  []byte
		class failureClass
		wrong bool
	}{
		"ERROR 410":    {body: eventFrame(t, watch.Error, "Status", &gone, true), class: classExpired},
		"another kind": {body: eventFrame(t, watch.Added, "Node", &corev1.Node{}, true), class: classDecode, wrong: true},
		"unknown type": {body: eventFrame(t, "SHRUG", "Pod", pod("a", "1"), true), class: classDecode},
		"cut":          {body: whole[:len(whole)-1], class: classDecode},
		"cut length":   {body: whole[:3], class: classDecode},
		"too long":     {body: []byte{4, 0, 0, 1}, class: classDecode},
		"garbage":      {body: []byte{0, 0, 0, 2, 0xff, 0xff}, class: classDecode},
		"text":         {body: []byte("what?"), class: classDecode},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream, err := answersOnce(t, test.body).Watch(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer stream.Close()
				_, err = stream.Next(t.Context())
				want(t, "class of "+fmt.Sprint(err), classify(err).class, test.class)
				want(t, "only the event is lost", errors.Is(err, ErrWrongType), test.wrong)
			})
		})
	}
}

func TestAConnectionLostWithinAnAnswerIsNoUnreadableAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := FromREST[*corev1.Pod](serve(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"type":"ADDED"`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}), "pods", "")
		stream, err := source.Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		_, err = stream.Next(t.Context())
		want(t, "class of "+fmt.Sprint(err), classify(err).class, classTransport)
		_, err = source.List(t.Context(), metav1.ListOptions{})
		want(t, "class of "+fmt.Sprint(err), classify(err).class, classTransport)
	})
}

func TestAnEventArrivesWithoutAnotherAfterIt(t *testing.T) {
	for _, inProto := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			next := make(chan int)
			source := FromREST[*corev1.Pod](serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.(http.Flusher).Flush()
				for i := range next {
					_, _ = w.Write(eventFrame(t, watch.Added, "Pod", bulkyPod(i), inProto))
					w.(http.Flusher).Flush()
				}
			}), "pods", "")
			defer close(next)
			stream, err := source.Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			for i := range 200 {
				next <- i
				event, err := stream.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				want(t, "pod", event.Object.Name, bulkyPod(i).Name)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := stream.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("of a silent stream: %v", err)
			}
		})
	}
}

func TestTheServerIsAskedForWhatTheTypeHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan *http.Request, 1)
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked <- r
			_, _ = io.WriteString(w, `{"items":[]}`)
		})
		const meta = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
		for _, test := range []struct {
			list   func() error
			accept string
		}{
			{listOnce(FromREST[*corev1.Pod](client, "pods", "")), protoType + ",application/json"},
			{listOnce(FromREST[*corev1.Pod](client, "pods", "", WithJSON())), "application/json"},
			{listOnce(FromREST[*unstructured.Unstructured](client, "pods", "")), "application/json"},
			{listOnce(FromREST[*object](client, "pods", "")), protoType + meta + ",application/json" + meta + ",application/json"},
		} {
			if err := test.list(); err != nil {
				t.Fatal(err)
			}
			want(t, "Accept", (<-asked).Header.Get("Accept"), test.accept)
		}
		const shard = "shardRange(object.metadata.uid, '0x0', '0x8')"
		if err := listOnce(FromREST[*corev1.Pod](client, "pods", "", WithShard(shard)))(); err != nil {
			t.Fatal(err)
		}
		want(t, "shard", (<-asked).URL.Query().Get("shardSelector"), shard)
		stream, err := FromREST[*object](client, "pods", "").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stream.Close()
		want(t, "Accept of a watch", strings.Contains((<-asked).Header.Get("Accept"), "as=PartialObjectMetadata;"), true)
	})
}

// listOnce lists any type.
func listOnce[T Object](source Source[T]) func() error {
	return func() error {
		_, err := source.List(context.Background(), metav1.ListOptions{})
		return err
	}
}

func TestTypesWithoutProtobufAndMetadataAreReadOffAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list, _ := json.Marshal(podList("9", pod("a", "1")))
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(list)
		})
		loose, err := FromREST[*unstructured.Unstructured](client, "pods", "").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "kind of an item", loose.Items[0].GroupVersionKind().String(), "/v1, Kind=Pod")
		meta, err := FromREST[*object](client, "pods", "").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "name", meta.Items[0].Name, "a")
		decoded, err := FromREST[*corev1.Pod](client, "pods", "", WithClientDecoding(), WithJSON()).List(t.Context(), metav1.ListOptions{})
		want(t, "by the client", err == nil && decoded.Items[0].Name == "a", true)
	})
}

func TestManagedFieldsAndStringsAreTreatedAsAsked(t *testing.T) {
	for _, inProto := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := &podServer{t: t, inProto: inProto}
			for i := range 20 {
				p := bulkyPod(i)
				p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
				p.Labels = map[string]string{"app": "x"}
				server.pods = append(server.pods, p)
			}
			source := FromREST[*corev1.Pod](serve(t, server.ServeHTTP), "pods", "", WithoutManagedFields(), WithSharing(0))
			page, err := source.List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range page.Items {
				want(t, "managed fields", len(p.ManagedFields), 0)
				server.pods[i].ManagedFields = nil
			}
			theSamePods(t, page.Items, server.pods)
		})
	}
}
