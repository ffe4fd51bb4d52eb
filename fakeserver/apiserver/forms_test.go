package apiserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/net/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/internal/bubble"
)

const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io"

var _ = Describe("a Table", func() {
	bubble.It("says how old objects are when it is sent", func() {
		r := inBubble()
		r.configMap("a", "")
		age := func() any {
			var table metav1.Table
			got := r.do("GET", configMaps+"?resourceVersion=0", "", "Accept", tableType)
			Expect(json.Unmarshal(got.body, &table)).To(Succeed())
			return table.Rows[0].Cells[2]
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		Expect(age()).To(Equal("5s"))
		time.Sleep(2 * time.Hour)
		Expect(age()).To(Equal("120m"))
	})

	bubble.It("has the columns in the first event of a watch only, also if that is a bookmark", func() {
		r := inBubble()
		s := r.watchMaps("&allowWatchBookmarks=true", "Accept", tableType)
		r.configMap("a", "")
		settle()
		frames := strings.Split(strings.TrimSpace(string(s.flushed())), "\n")
		Expect(frames).To(HaveLen(2))
		Expect(frames[0]).To(And(ContainSubstring(`"type":"BOOKMARK"`), ContainSubstring(`"columnDefinitions":[{`), ContainSubstring(`"cells":["",0,"`)))
		Expect(frames[1]).To(And(ContainSubstring(`"type":"ADDED"`), ContainSubstring(`"columnDefinitions":null`)))
	})

	bubble.It("cannot be had as protobuf", func() {
		got := inBubble().do("GET", configMaps, "", "Accept", strings.Replace(tableType, "json", "vnd.kubernetes.protobuf", 1))
		Expect(got.code).To(Equal(http.StatusNotAcceptable))
	})
})

// fill makes config maps that are together longer than what is compressed.
func (r *rig) fill() {
	for i := range 20 {
		r.configMap(fmt.Sprintf("c%02d", i), `,"annotations":{"a":"`+strings.Repeat("x", 10<<10)+`"}`)
	}
}

func unzip(data []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(data))
	Expect(err).NotTo(HaveOccurred())
	plain, err := io.ReadAll(z)
	Expect(err).NotTo(HaveOccurred())
	return plain
}

var _ = Describe("long answers", func() {
	bubble.It("are compressed for those who take it, and the same then", func() {
		r := inBubble()
		r.fill()
		for _, accept := range []string{"application/json", "application/vnd.kubernetes.protobuf", "application/yaml"} {
			plain := r.do("GET", configMaps, "", "Accept", accept)
			Expect(plain.header.Get("Content-Encoding")).To(BeEmpty())
			zipped := r.do("GET", configMaps, "", "Accept", accept, "Accept-Encoding", "deflate, gzip")
			Expect(zipped.header.Get("Content-Encoding")).To(Equal("gzip"))
			Expect(zipped.header.Get("Vary")).To(Equal("Accept-Encoding"))
			Expect(len(zipped.body)).To(BeNumerically("<", len(plain.body)/10))
			Expect(bytes.Equal(unzip(zipped.body), plain.body)).To(BeTrue(), accept)
		}
	})

	bubble.It("are not when they are short", func() {
		r := inBubble()
		r.configMap("a", "")
		got := r.do("GET", configMaps, "", "Accept-Encoding", "gzip")
		Expect(got.header.Get("Content-Encoding")).To(BeEmpty())
		Expect(got.names()).To(Equal([]string{"a"}))
	})

	bubble.It("are compressed in watches that serve as lists only, a member for each flush", func() {
		r := inBubble()
		r.fill()
		plain := r.watchMaps("&resourceVersion=0", "Accept-Encoding", "gzip")
		Expect(plain.header.Get("Content-Encoding")).To(BeEmpty())
		zipped := r.watchMaps("&allowWatchBookmarks=true", "Accept-Encoding", "gzip")
		Expect(zipped.header.Get("Content-Encoding")).To(Equal("gzip"))
		r.configMap("later", "")
		settle()
		Expect(bytes.Count(zipped.flushed(), []byte{0x1f, 0x8b, 8})).To(Equal(2))
		frames := bytes.Split(bytes.TrimSpace(unzip(zipped.flushed())), []byte("\n"))
		Expect(frames).To(HaveLen(22)) // 20, the bookmark, one
	})
})

// message is one of a websocket.
type message struct {
	kind byte
	data []byte
}

var messages = websocket.Codec{Unmarshal: func(data []byte, kind byte, v any) error {
	*v.(*message) = message{kind, bytes.Clone(data)}
	return nil
}}

var _ = Describe("a websocket", func() {
	dial := func(r *rig, path string, header ...string) *websocket.Conn {
		listener := &oneConn{conns: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: r}
		go func() { _ = server.Serve(listener) }()
		bubble.Cleanup(func() { _ = server.Close() })
		near, far := net.Pipe()
		listener.conns <- far
		config := &websocket.Config{
			Origin:  &url.URL{Scheme: "http", Host: "rig"},
			Version: websocket.ProtocolVersionHybi13, Header: http.Header{},
		}
		var err error
		config.Location, err = url.Parse("ws://rig" + path)
		Expect(err).NotTo(HaveOccurred())
		for i := 0; i+1 < len(header); i += 2 {
			config.Header.Set(header[i], header[i+1])
		}
		conn, err := websocket.NewClient(config, near)
		Expect(err).NotTo(HaveOccurred())
		bubble.Cleanup(func() { _ = conn.Close() })
		return conn
	}

	bubble.It("gets events as messages of text", func() {
		r := inBubble()
		conn := dial(r, configMaps+"?watch=true&timeoutSeconds=10")
		r.configMap("a", "")
		var got message
		Expect(messages.Receive(conn, &got)).To(Succeed())
		Expect(got.kind).To(Equal(byte(websocket.TextFrame)))
		Expect(string(got.data)).To(HavePrefix(`{"type":"ADDED","object":{"kind":"ConfigMap"`))
		Expect(messages.Receive(conn, &got)).To(MatchError(io.EOF)) // after the timeout
	})

	bubble.It("gets protobuf in binary ones, without their length", func() {
		r := inBubble()
		r.configMap("a", "")
		conn := dial(r, configMaps+"?watch=true&timeoutSeconds=10", "Accept", "application/vnd.kubernetes.protobuf")
		var got message
		Expect(messages.Receive(conn, &got)).To(Succeed())
		Expect(got.kind).To(Equal(byte(websocket.BinaryFrame)))
		var event metav1.WatchEvent
		Expect(event.Unmarshal(got.data)).To(Succeed())
		Expect(event.Type).To(Equal("ADDED"))
		Expect(event.Object.Raw).To(HavePrefix("k8s\x00"))
	})

	bubble.It("ends the watch when the client closes it, whatever it sent before", func() {
		r := inBubble()
		conn := dial(r, configMaps+"?watch=true")
		Expect(websocket.Message.Send(conn, strings.Repeat("noise", 10000))).To(Succeed())
		synctest.Wait()
		Expect(conn.Close()).To(Succeed())
		settle()
		Expect(r.DropWatches()).To(BeZero())
	})

	bubble.It("ends with the server, although the client reads nothing", func() {
		r := inBubble()
		r.fill()
		conn := dial(r, configMaps+"?watch=true")
		synctest.Wait()
		began := time.Now()
		r.Close()
		Expect(time.Since(began)).To(BeNumerically("<=", 3*closeGrace))
		_ = conn
	})

	// rest is what is read from the connection until its end.
	rest := func(conn net.Conn) []byte {
		bytes, err := io.ReadAll(conn)
		Expect(err).NotTo(HaveOccurred())
		return bytes
	}
	closeFrame := []byte{0x88, 2, 1000 >> 8, 1000 & 0xff}

	bubble.It("ends with a close frame, unless its connection is cut", func() {
		r := inBubble()
		for end, want := range map[string][]byte{"time": closeFrame, "drop": closeFrame, "cut": {}} {
			conn := r.upgrade(configMaps+"?watch=true&timeoutSeconds=10", "Origin: http://rig\r\n")
			Expect(readHead(conn)).To(HavePrefix("HTTP/1.1 101 "))
			synctest.Wait()
			switch end {
			case "drop":
				Expect(r.DropWatches()).To(Equal(1))
			case "cut":
				Expect(r.CutWatches()).To(Equal(1))
			}
			Expect(rest(conn)).To(BeEquivalentTo(want), end)
			synctest.Wait()
			Expect(r.CutWatches()).To(BeZero())
		}
	})

	bubble.It("is counted with the code that was sent", func() {
		r := inBubble()
		const path = configMaps + "?watch=true&timeoutSeconds=1"
		rest(r.upgrade(path, ""))
		rest(r.upgrade(path, "Origin: http://rig\r\n"))
		rest(r.upgrade(path, "Origin: http://rig\r\nSec-WebSocket-Version: 7\r\n"))
		synctest.Wait()
		for code, n := range map[string]string{"101": "1", "400": "1", "403": "1"} {
			Expect(r.metric(`apiserver_request_total{code="`+code+`"`)).To(ConsistOf(HaveSuffix(" "+n)), code)
		}
	})

	bubble.It("is refused to those who do not say where they come from", func() {
		Expect(readHead(inBubble().upgrade(configMaps+"?watch=true", ""))).To(HavePrefix("HTTP/1.1 403 "))
	})
})

// upgrade asks for a websocket, with some more headers.
func (r *rig) upgrade(path, headers string) net.Conn {
	listener := &oneConn{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: r}
	go func() { _ = server.Serve(listener) }()
	bubble.Cleanup(func() { _ = server.Close() })
	near, far := net.Pipe()
	listener.conns <- far
	bubble.Cleanup(func() { _ = near.Close() })
	if !strings.Contains(headers, "Version") {
		headers += "Sec-WebSocket-Version: 13\r\n"
	}
	_, err := io.WriteString(near, "GET "+path+" HTTP/1.1\r\nHost: rig\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		headers+"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	Expect(err).NotTo(HaveOccurred())
	return near
}

// readHead reads an answer up to its body.
func readHead(conn net.Conn) string {
	var head []byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		next := make([]byte, 1)
		_, err := io.ReadFull(conn, next)
		Expect(err).NotTo(HaveOccurred())
		head = append(head, next...)
	}
	return string(head)
}

// oneConn is a listener of connections that are given to it.
type oneConn struct {
	conns  chan net.Conn
	closed chan struct{}
	done   atomic.Bool
}

func (o *oneConn) Accept() (net.Conn, error) {
	select {
	case conn := <-o.conns:
		return conn, nil
	case <-o.closed:
		return nil, net.ErrClosed
	}
}

func (o *oneConn) Close() error {
	if o.done.CompareAndSwap(false, true) {
		close(o.closed)
	}
	return nil
}

func (o *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "rig"} }

func TestAnObjectIsEncodedOnceForAllItsReaders(t *testing.T) {
	r := newRig(t, Options{})
	r.do("POST", configMaps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	r.do("GET", configMaps, "") // waits for the cache
	_, maps := r.served.Load().find(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
	reader, err := maps.reader(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	accepts := []string{
		"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", tableType,
		"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
	}
	item, err := reader.Get(context.Background(), "default", "a", "0")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, accept := range accepts {
			for _, path := range []string{"?resourceVersion=0", "/a?resourceVersion=0", "?watch=true&resourceVersion=0&timeoutSeconds=-1"} {
				if strings.HasPrefix(path, "?r") {
					accept = strings.Replace(accept, "Metadata;", "MetadataList;", 1)
				} else {
					accept = strings.Replace(accept, "MetadataList;", "Metadata;", 1)
				}
				_ = r.do("GET", configMaps+path, "", "Accept", accept)
			}
		}
	}
	// Each is there: making it would be noticed.
	for _, id := range []string{"application/json v1", "application/vnd.kubernetes.protobuf v1", "application/json meta.k8s.io/v1", rowID} {
		if _, err := item.Encoded(id, func(apiruntime.Object) ([]byte, error) {
			t.Errorf("%s was not kept", id)
			return nil, nil
		}); err != nil {
			t.Error(err)
		}
	}
}
