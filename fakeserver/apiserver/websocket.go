package apiserver

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/websocket"

	"github.com/listwatch/listwatch/internal/worker"
)

// isWebSocket says whether a request asks for a websocket.
func isWebSocket(r *http.Request) bool {
	wants := func(header, word string) bool {
		return slices.ContainsFunc(r.Header.Values(header), func(value string) bool {
			return slices.ContainsFunc(strings.Split(value, ","), func(w string) bool {
				return strings.EqualFold(strings.TrimSpace(w), word)
			})
		})
	}
	return wants("Connection", "upgrade") && wants("Upgrade", "websocket")
}

// serveWebSocket sends events as messages: text for JSON, else binary, without a
// length in front. Whatever the client sends is read and forgotten; when it
// closes its side, the watch ends. As on a real server the client must say its
// Origin.
func (s *eventStream) serveWebSocket(ctx context.Context, q *request, source eventSource) error {
	var failure error
	websocket.Handler(func(conn *websocket.Conn) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		readers := worker.New(ctx)
		readers.Go("websocket reader", func(context.Context) {
			_, _ = io.Copy(io.Discard, conn) // any error is the end
			cancel()
		})
		defer readers.StopAndWait()
		defer context.AfterFunc(ctx, func() { // ends a write that is stuck
			_ = conn.SetWriteDeadline(time.Now().Add(closeGrace))
		})()
		defer conn.Close()
		s.transport = &messageTransport{conn: conn, format: s.out.format}
		failure = s.run(ctx, source)
	}).ServeHTTP(hijackable{q.w}, q.Request)
	return failure
}

// messageTransport sends each frame as a message of a websocket.
type messageTransport struct {
	conn   *websocket.Conn
	format format
}

func (t *messageTransport) send(frame []byte) error {
	if t.format == formatProtobuf {
		return websocket.Message.Send(t.conn, frame[lengthSize:])
	}
	return websocket.Message.Send(t.conn, string(frame))
}

func (t *messageTransport) flush() error { return nil }

// hijackable lets the connection below a wrapped writer be taken over.
type hijackable struct{ http.ResponseWriter }

func (h hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if tracked, ok := h.ResponseWriter.(*trackingWriter); ok && err == nil {
		tracked.begun, tracked.code = true, http.StatusSwitchingProtocols
	}
	return conn, buffered, err
}
