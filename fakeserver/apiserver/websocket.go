package apiserver

import (
	"bufio"
	"context"
	"errors"
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
// Origin, and gets a close frame (1000) when the watch ends, however it does; only
// a connection that is cut has none.
func (s *eventStream) serveWebSocket(ctx context.Context, q *request, source eventSource) error {
	var failure error
	upgrade := hijackable{q.w}
	serve := func(conn *websocket.Conn) {
		upgrade.count(http.StatusSwitchingProtocols)
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
		defer func() {
			if context.Cause(ctx) == errCut {
				_ = conn.SetDeadline(time.Now()) // the connection below is closed next
				return
			}
			_ = conn.Close()
		}()
		s.transport = &messageTransport{conn: conn, format: s.out.format}
		failure = s.run(ctx, source)
	}
	handshake := func(config *websocket.Config, r *http.Request) (err error) {
		if config.Origin, err = websocket.Origin(config, r); err == nil && config.Origin == nil {
			err = errNoOrigin
		}
		if err != nil {
			upgrade.count(http.StatusForbidden)
		}
		return err
	}
	websocket.Server{Handler: serve, Handshake: handshake}.ServeHTTP(upgrade, q.Request)
	return failure
}

var errNoOrigin = errors.New("apiserver: websocket without an origin")

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
	if err == nil {
		h.count(http.StatusBadRequest) // until the handshake is found to be one
	}
	return conn, buffered, err
}

// count notes the code that was sent over the connection that was taken over.
func (h hijackable) count(code int) {
	if tracked, ok := h.ResponseWriter.(*trackingWriter); ok {
		tracked.begun, tracked.code = true, code
	}
}
