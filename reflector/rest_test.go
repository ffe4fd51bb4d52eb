package reflector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// pipes is a net.Listener whose connections are made by Dial.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve gives a client of a server that answers with handler, over pipes. It
// must be called in a bubble, which then fails if anything stays behind.
func serve(t *testing.T, handler http.HandlerFunc) rest.Interface {
	t.Helper()
	listener := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(listener) }()
	transport := &http.Transport{DialContext: listener.Dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	client, err := rest.RESTClientFor(&rest.Config{
		Host: "http://pipe", APIPath: "/api", Transport: transport, QPS: -1,
		ContentConfig: rest.ContentConfig{GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// reply writes an object with a status.
func reply(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
	w.(http.Flusher).Flush()
}

// onWire is a status as a server writes it.
func onWire(err *apierrors.StatusError) metav1.Status {
	status := err.ErrStatus
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return status
}

// podFrame is a watch event as it goes over the wire.
func podFrame(eventType string, pod *corev1.Pod) string {
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	raw, _ := json.Marshal(pod)
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", eventType, raw)
}

func podList(resourceVersion string, pods ...*corev1.Pod) *corev1.PodList {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: resourceVersion}}
	for _, pod := range pods {
		list.Items = append(list.Items, *pod)
	}
	return list
}

func TestRESTAsksWhatItIsToldTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan *url.URL, 2)
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked <- r.URL
			if r.URL.Query().Get("watch") == "" {
				reply(w, 200, podList("10", pod("a", "5")))
				return
			}
			w.Header().Set("Content-Type", "application/json")
		})
		app, _ := labels.Parse("app=x")
		source := FromREST[*corev1.Pod](client, "pods", "ns",
			WithLabelSelector(app), WithFieldSelector(fields.OneTermEqualSelector("spec.nodeName", "n1")))
		page, err := source.List(t.Context(), metav1.ListOptions{ResourceVersion: "0", Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "items", len(page.Items), 1)
		want(t, "version", page.ResourceVersion, "10")
		want(t, "list", (<-asked).String(),
			"/api/v1/namespaces/ns/pods?fieldSelector=spec.nodeName%3Dn1&labelSelector=app%3Dx&limit=500&resourceVersion=0")

		yes, seconds := true, int64(300)
		stream, err := FromREST[*corev1.Pod](client, "pods", "").Watch(t.Context(), metav1.ListOptions{
			AllowWatchBookmarks: true, SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, TimeoutSeconds: &seconds})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		want(t, "watch", (<-asked).String(),
			"/api/v1/pods?allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=300&watch=true")
		if _, err := stream.Next(t.Context()); err != io.EOF {
			t.Errorf("orderly end: %v", err)
		}
	})
}

func TestRESTReportsTheServersAnswerOfASingleRequest(t *testing.T) {
	for name, answer := range map[string]struct {
		status *apierrors.StatusError
		class  failureClass
	}{
		"429": {apierrors.NewTooManyRequests("slow down", 7), classBusy},
		"503": {apierrors.NewServiceUnavailable("starting"), classBusy},
		"410": {apierrors.NewResourceExpired("too old"), classExpired},
		"403": {apierrors.NewForbidden(pods, "", errors.New("no")), classDenied},
		"504": {tooLarge(), classTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					requests++
					w.Header().Set("Retry-After", "7")
					reply(w, int(answer.status.ErrStatus.Code), onWire(answer.status))
				})
				source := FromREST[*corev1.Pod](client, "pods", "")
				_, err := source.List(t.Context(), metav1.ListOptions{})
				want(t, "class of the list", classify(err).class, answer.class)
				_, err = source.Watch(t.Context(), metav1.ListOptions{})
				want(t, "class of the watch", classify(err).class, answer.class)
				if name == "429" {
					want(t, "retry", classify(err).retryAfter, 7*time.Second)
				}
				want(t, "requests", requests, 2)
			})
		})
	}
}

func TestRESTTellsFramesThatCannotBeReadFromStreamsThatEnd(t *testing.T) {
	gone, _ := json.Marshal(onWire(apierrors.NewResourceExpired("too old")))
	for name, test := range map[string]struct {
		frame string
		class failureClass
	}{
		"garbage":          {"what?\n", classDecode},
		"unknown kind":     {`{"type":"ADDED","object":{"kind":"Nobody","apiVersion":"v9"}}` + "\n", classDecode},
		"another kind":     {`{"type":"ADDED","object":{"kind":"Node","apiVersion":"v1"}}` + "\n", classDecode},
		"unknown type":     {podFrame("SHRUG", pod("a", "1")), classDecode},
		"ERROR 410":        {fmt.Sprintf(`{"type":"ERROR","object":%s}`+"\n", gone), classExpired},
		"cut in the frame": {podFrame("ADDED", pod("a", "1"))[:40], classDecode},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, test.frame)
				})
				stream, err := FromREST[*corev1.Pod](client, "pods", "").Watch(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer stream.Close()
				_, err = stream.Next(t.Context())
				want(t, "class of "+fmt.Sprint(err), classify(err).class, test.class)
			})
		})
	}
}

func TestRESTSaysWhenTheConnectionBreaksBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		source := FromREST[*corev1.Pod](client, "pods", "")
		if _, err := source.Watch(t.Context(), metav1.ListOptions{}); !errors.Is(err, ErrConnectionLost) {
			t.Errorf("watch: %v", err)
		}
		if _, err := source.List(t.Context(), metav1.ListOptions{}); classify(err).class != classTransport {
			t.Errorf("list: %v", err)
		}
	})
}

func TestRESTIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan string)
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("watch") == "" {
				t.Errorf("unexpected list %s", r.URL)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			if strings.Contains(r.URL.RawQuery, "sendInitialEvents=true") {
				end := pod("", "10")
				end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
				_, _ = io.WriteString(w, podFrame("ADDED", pod("a", "5"))+podFrame("BOOKMARK", end))
			}
			for {
				w.(http.Flusher).Flush()
				select {
				case frame := <-next:
					if frame == "" {
						return
					}
					_, _ = io.WriteString(w, frame)
				case <-r.Context().Done():
					return
				}
			}
		})
		status := follow(t, FromREST[*corev1.Pod](client, "pods", "ns"), func(context.Context) {
			next <- podFrame("ADDED", pod("b", "11"))
			next <- "" // an orderly end, after which the watch resumes at 11
			next <- podFrame("MODIFIED", pod("b", "12"))
			next <- podFrame("DELETED", pod("b", "13"))
		}, lifeOfB)
		want(t, "version", status.ResourceVersion, "13")
		want(t, "reconnects", status.Reconnects, 1)
		want(t, "lists", status.Lists, 0)
		want(t, "decoded", status.Decoded, 4)
	})
}
