package apiserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// FuzzListOptions: whatever the query of a list is, the answer is a list or an
// error of the client's, and not a failure of the server.
func FuzzListOptions(f *testing.F) {
	for _, seed := range []string{
		"", "limit=1", "limit=-1&continue=x", "resourceVersion=0&resourceVersionMatch=Exact", "labelSelector=a%3Db,c!%3Dd",
		"fieldSelector=metadata.name%3Da", "labelSelector=a+in+(b,c),!d", "timeout=1s", "includeObject=None&pretty=1",
		"continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "sendInitialEvents=true", "fieldSelector=a%5C,b%3Dc",
		"shardSelector=shardRange(object.metadata.uid,'0x0','0x1')", "allowWatchBookmarks=maybe&timeoutSeconds=1",
	} {
		f.Add(seed, "application/json")
		f.Add(seed, tableType)
	}
	r := fuzzRig(f, time.Millisecond) // many versions are of the future
	f.Fuzz(func(t *testing.T, query, accept string) {
		values, err := url.ParseQuery(query)
		if err != nil || isWatch(values) {
			return
		}
		got := r.do("GET", configMaps+"?"+values.Encode(), "", "Accept", accept)
		// A continue token may be from the future.
		if got.code != http.StatusOK && got.code != http.StatusGatewayTimeout && (got.code < 400 || got.code >= 500) {
			t.Fatalf("%s: %d %s", query, got.code, got.body)
		}
		if got.header.Get("Content-Type") == "application/json" && !json.Valid(got.body) {
			t.Fatalf("%s: no JSON: %s", query, got.body)
		}
	})
}

// fuzzRig has two config maps. patience is how long a request may wait for what
// may never come, and for the cache to be filled, which a slow machine takes
// long for.
func fuzzRig(f *testing.F, patience time.Duration) *rig {
	r := newRig(f, Options{Cache: cacher.Options{Sharding: true, BlockTimeout: patience}})
	for _, name := range []string{"a", "b"} {
		r.do("POST", configMaps, `{"metadata":{"name":"`+name+`","labels":{"a":"b"}}}`)
	}
	return r
}

// FuzzSelectors: a selector is understood or refused; an object that is listed
// with it is listed by its reverse only if it is not listed here.
func FuzzSelectors(f *testing.F) {
	for _, seed := range []string{"a=b", "a!=b", "a", "!a", "a in (b,c)", "a notin (b)", "a>1", "=", ",", "a=b,a=c", "x y", "\x00"} {
		f.Add(seed, "metadata.name=a")
	}
	r := fuzzRig(f, time.Minute)
	f.Fuzz(func(t *testing.T, labels, fields string) {
		query := url.Values{"labelSelector": {labels}, "fieldSelector": {fields}, "resourceVersion": {"0"}}
		got := r.do("GET", configMaps+"?"+query.Encode(), "")
		if got.code != http.StatusOK && got.code != http.StatusBadRequest {
			t.Fatalf("%q %q: %d %s", labels, fields, got.code, got.body)
		}
	})
}

// FuzzFrames: what is framed can be read again, in both formats.
func FuzzFrames(f *testing.F) {
	f.Add("ADDED", "v1", "Pod", []byte(`{"a":1}`))
	f.Add("", "", "", []byte{})
	f.Fuzz(func(t *testing.T, kind, version, name string, body []byte) {
		gvk := metav1.SchemeGroupVersion.WithKind(name)
		gvk.Group, gvk.Version = "", version
		frame := output{format: formatProtobuf}.appendFrame([]byte("before"), watch.EventType(kind), envelopeStart(gvk), body)[len("before"):]
		if int(binary.BigEndian.Uint32(frame)) != len(frame)-lengthSize {
			t.Fatalf("length %d of %d", binary.BigEndian.Uint32(frame), len(frame))
		}
		var event metav1.WatchEvent
		if err := event.Unmarshal(frame[lengthSize:]); err != nil || event.Type != kind {
			t.Fatalf("%v %q", err, event.Type)
		}
		if want := appendEnvelope(nil, gvk, body); !bytes.Equal(event.Object.Raw, want) {
			t.Fatalf("got %q, want %q", event.Object.Raw, want)
		}
		if !json.Valid(body) || strings.ContainsAny(kind, "\"\\") {
			return
		}
		line := output{}.appendFrame(nil, "ADDED", nil, body)
		var decoded struct{ Object json.RawMessage }
		if err := json.Unmarshal(line, &decoded); err != nil || line[len(line)-1] != '\n' {
			t.Fatalf("%v: %s", err, line)
		}
	})
}

// FuzzWebSocketInput: whatever a client sends on an open websocket, the watch
// ends when the connection does, and harms nobody.
func FuzzWebSocketInput(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x81\x85\x00\x00\x00\x00hello"))
	f.Add([]byte("\x88\x80\x00\x00\x00\x00"))             // close
	f.Add([]byte("\x89\x80\x00\x00\x00\x00"))             // ping
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff")) // nonsense
	f.Add([]byte("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00"))
	r := fuzzRig(f, time.Minute)
	f.Fuzz(func(t *testing.T, input []byte) {
		near, far := net.Pipe()
		listener := &oneConn{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
		listener.conns <- far
		server := &http.Server{Handler: r}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(listener)
		}()
		_ = near.SetDeadline(time.Now().Add(10 * time.Second))
		go func() { // what the server says
			buffer := make([]byte, 1024)
			for {
				if _, err := near.Read(buffer); err != nil {
					return
				}
			}
		}()
		_, err := near.Write([]byte("GET " + configMaps + "?watch=true HTTP/1.1\r\nHost: rig\r\nOrigin: http://rig\r\nConnection: Upgrade\r\n" +
			"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = near.Write(input) // the server may have had enough
		_ = near.Close()
		_ = server.Close()
		<-served
	})
}
