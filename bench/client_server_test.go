package bench

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// wireServer is what a client sees of an API server that holds pods which never
// change, except that resourceVersion rises by one with each list. What it sends
// was encoded beforehand, and it runs in a process of its own, so that it costs
// little and its memory is not the client's.
type wireServer struct {
	json, proto [][]byte // pods without their kind

	mu      sync.Mutex
	version int
	expire  chan struct{} // closed when watches are to end with 410
	changes chan int      // how many events the watch is to send
}

// firstVersion is that of the server's first list.
const firstVersion = 1_000_000

// wirePod is a pod of the server's, in a version.
func wirePod(i int, version string) *corev1.Pod {
	pod := ordinaryPod(i)
	pod.ResourceVersion = version
	return pod
}

// serveWire is the other process: it serves until standard input ends.
func serveWire(count int) {
	s := &wireServer{version: firstVersion, expire: make(chan struct{}), changes: make(chan int, 1)}
	for i := range count {
		pod := wirePod(i, strconv.Itoa(1000+i))
		s.json, s.proto = append(s.json, bytesOf(pod, false)), append(s.proto, bytesOf(pod, true))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() { panic(http.Serve(listener, s)) }()
	fmt.Println(listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startWire starts the other process and returns its address.
func startWire(b *testing.B, count int) string {
	b.Helper()
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), "LISTWATCH_WIRE_SERVER="+strconv.Itoa(count))
	server.Stderr = os.Stderr
	stdin, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = server.Wait()
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(address)
}

// ServeHTTP answers lists, watches and, at /expire, lets the watches end; at /change
// it lets the only watch tell of changes, and /nothing is only an answer.
func (s *wireServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	w.Header().Set("Content-Type", contentType(r))
	inProto := contentType(r) == protobufType
	out := bufio.NewWriterSize(w, 32<<10)
	switch {
	case r.URL.Path == "/expire":
		s.mu.Lock()
		close(s.expire)
		s.expire = make(chan struct{})
		s.version++
		s.mu.Unlock()
	case r.URL.Path == "/nothing":
	case r.URL.Path == "/change":
		n, _ := strconv.Atoi(query.Get("events"))
		s.changes <- n
	case query.Get("watch") != "":
		s.watch(w, r, out, inProto)
	default:
		limit := query.Get("limit")
		if query.Get("resourceVersion") == "0" {
			limit = "" // as the watch cache does
		}
		s.list(limit, query.Get("continue"), out, inProto)
	}
	_ = out.Flush()
}

const protobufType = "application/vnd.kubernetes.protobuf"

// contentType is that of the answer to r.
func contentType(r *http.Request) string {
	if strings.HasPrefix(r.Header.Get("Accept"), protobufType) {
		return protobufType
	}
	return "application/json"
}

func (s *wireServer) state() (version string, expire chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strconv.Itoa(s.version), s.expire
}

// watch sends the initial events if they are wanted, then changes that change
// nothing, as many as are asked for.
func (s *wireServer) watch(w http.ResponseWriter, r *http.Request, out *bufio.Writer, inProto bool) {
	version, expire := s.state()
	send := sendJSON
	pods := s.json
	if inProto {
		send, pods = sendProto, s.proto
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, pod := range pods {
			send(out, "ADDED", "Pod", pod)
		}
		end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: version, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
		send(out, "BOOKMARK", "Pod", bytesOf(end, inProto))
	}
	_ = out.Flush()
	w.(http.Flusher).Flush()
	for {
		select {
		case n := <-s.changes:
			for i := range n {
				send(out, "MODIFIED", "Pod", pods[i%len(pods)])
			}
			_ = out.Flush()
			w.(http.Flusher).Flush()
		case <-expire:
			gone := &metav1.Status{Status: "Failure", Reason: metav1.StatusReasonExpired, Code: 410, Message: "too old"}
			send(out, "ERROR", "Status", bytesOf(gone, inProto))
			return
		case <-r.Context().Done():
			return
		}
	}
}

// bytesOf encodes either way.
func bytesOf(object interface{ Marshal() ([]byte, error) }, inProto bool) []byte {
	encode := object.Marshal
	if !inProto {
		encode = func() ([]byte, error) { return json.Marshal(object) }
	}
	data, err := encode()
	if err != nil {
		panic(err)
	}
	return data
}

// sendJSON writes an event about an object that does not say its kind.
func sendJSON(out io.Writer, event, kind string, object []byte) {
	_, _ = fmt.Fprintf(out, `{"type":"%s","object":{"kind":"%s","apiVersion":"v1",`, event, kind)
	_, _ = out.Write(object[1:])
	_, _ = io.WriteString(out, "}\n")
}

func sendProto(out io.Writer, event, kind string, object []byte) {
	unknown := &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: object}
	frame := bytesOf(&metav1.WatchEvent{Type: event, Object: runtime.RawExtension{
		Raw: append([]byte("k8s\x00"), bytesOf(unknown, true)...)}}, true)
	_ = binary.Write(out, binary.BigEndian, uint32(len(frame)))
	_, _ = out.Write(frame)
}

// list sends a page.
func (s *wireServer) list(limit, token string, out *bufio.Writer, inProto bool) {
	from, _ := strconv.Atoi(token)
	to := len(s.json)
	if n, err := strconv.Atoi(limit); err == nil && n > 0 {
		to = min(to, from+n)
	}
	version, _ := s.state()
	meta := metav1.ListMeta{ResourceVersion: version}
	if to < len(s.json) {
		meta.Continue = strconv.Itoa(to)
	}
	if inProto {
		s.listProto(meta, s.proto[from:to], out)
		return
	}
	head, _ := json.Marshal(meta)
	_, _ = fmt.Fprintf(out, `{"kind":"PodList","apiVersion":"v1","metadata":%s,"items":[`, head)
	for i, pod := range s.json[from:to] {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.Write(pod)
	}
	_, _ = out.WriteString("]}\n")
}

func (s *wireServer) listProto(meta metav1.ListMeta, pods [][]byte, out *bufio.Writer) {
	head := bytesOf(&meta, true)
	prefix := func(field byte, length int) []byte {
		return binary.AppendUvarint([]byte{field<<3 | 2}, uint64(length))
	}
	size := len(prefix(1, len(head))) + len(head)
	for _, pod := range pods {
		size += len(prefix(2, len(pod))) + len(pod)
	}
	kind := bytesOf(&runtime.TypeMeta{APIVersion: "v1", Kind: "PodList"}, true)
	_, _ = out.WriteString("k8s\x00")
	for _, piece := range [][]byte{prefix(1, len(kind)), kind, prefix(2, size), prefix(1, len(head)), head} {
		_, _ = out.Write(piece)
	}
	for _, pod := range pods {
		_, _ = out.Write(prefix(2, len(pod)))
		_, _ = out.Write(pod)
	}
}
