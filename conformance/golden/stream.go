package golden

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/internal/worker"
)

// surplusTime is how long a stream is read on after the expected events.
const surplusTime = 300 * time.Millisecond

// largestFrame bounds one protobuf event, in bytes.
const largestFrame = 64 << 20

// frame is one thing that came from a stream: an event, or its end.
type frame struct {
	event    any // decoded, as {"type": …, "object": …}
	bookmark bool
	end      string // "eof" or what was wrong
}

// stream is an open stream of watch events. One goroutine reads it.
type stream struct {
	frames  chan frame
	workers *worker.Group
	body    io.Closer

	collapse bool
	events   []any // those that count, in order
	ordinary bool  // the last of them is an ordinary bookmark
	end      string
}

// openStream reads the body of a response until close.
func openStream(ctx context.Context, response *http.Response, collapse bool) *stream {
	s := &stream{frames: make(chan frame), workers: worker.New(ctx), body: response.Body, collapse: collapse}
	next := jsonFrames(response.Body)
	if mediaType, _ := parseMediaType(response.Header.Get("Content-Type")); mediaType == "application/vnd.kubernetes.protobuf" {
		next = protobufFrames(response.Body)
	}
	s.workers.Go("golden stream", func(ctx context.Context) {
		for {
			f := next()
			select {
			case s.frames <- f:
			case <-ctx.Done():
				return
			}
			if f.end != "" {
				return
			}
		}
	})
	return s
}

// close ends the stream and waits for its goroutine.
func (s *stream) close() {
	s.workers.Stop()
	_ = s.body.Close() // nobody reads it any more
	s.workers.Wait()
}

// read waits until count events have come since the stream was opened (0: until
// it ends), and then, with surplus, for those that should not come. It returns
// when the limit has passed in any case.
func (s *stream) read(count int, limit time.Duration, surplus bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	enough := false
	for s.end == "" {
		if count > 0 && len(s.events) >= count && !enough {
			if !surplus {
				return
			}
			enough = true
			timer.Reset(surplusTime)
		}
		select {
		case f := <-s.frames:
			s.add(f)
		case <-timer.C:
			return
		}
	}
}

// add keeps an event. Ordinary bookmarks, which a server may send at any time,
// are left out, or several in a row kept as one.
func (s *stream) add(f frame) {
	switch {
	case f.end != "":
		s.end = f.end
	case !f.bookmark:
		s.events = append(s.events, f.event)
		s.ordinary = false
	case s.collapse && s.ordinary:
		s.events[len(s.events)-1] = f.event
	case s.collapse:
		s.events = append(s.events, f.event)
		s.ordinary = true
	}
}

// ended is how the stream ended, as recordings call it.
func (s *stream) ended() string {
	if s.end == "" {
		return "open"
	}
	return s.end
}

// jsonFrames reads one JSON event after the other.
func jsonFrames(body io.Reader) func() frame {
	lines := bufio.NewReader(body)
	return func() frame {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) == 0 {
			if err == nil {
				err = errors.New("an empty line")
			}
			return ended(err)
		}
		event, decodeErr := decode(line)
		if decodeErr != nil {
			return frame{end: fmt.Sprintf("%q is no event: %v", line, decodeErr)}
		}
		object, _ := event.(map[string]any)
		return frame{event: event, bookmark: object["type"] == "BOOKMARK" && !endsInitialEvents(object["object"])}
	}
}

// protobufFrames reads events with a length in front.
func protobufFrames(body io.Reader) func() frame {
	return func() frame {
		var length [4]byte
		if _, err := io.ReadFull(body, length[:]); err != nil {
			return ended(err)
		}
		size := binary.BigEndian.Uint32(length[:])
		if size > largestFrame {
			return frame{end: fmt.Sprintf("a frame of %d bytes", size)}
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(body, data); err != nil {
			return frame{end: fmt.Sprintf("a frame of %d bytes was cut off: %v", size, err)}
		}
		var event metav1.WatchEvent
		if err := event.Unmarshal(data); err != nil {
			return frame{end: fmt.Sprintf("a frame is no event: %v", err)}
		}
		_, last := protobufAnnotations(event.Object.Raw)[metav1.InitialEventsAnnotationKey]
		return frame{
			event:    map[string]any{"type": event.Type, "object": envelope(event.Object.Raw)},
			bookmark: event.Type == "BOOKMARK" && !last,
		}
	}
}

func ended(err error) frame {
	if errors.Is(err, io.EOF) {
		return frame{end: "eof"}
	}
	return frame{end: err.Error()}
}

// endsInitialEvents tells the bookmark after the initial events from ordinary
// ones, also as a Table, whose row holds the object.
func endsInitialEvents(object any) bool {
	for _, where := range endAnnotation {
		if len(where.find(object)) > 0 {
			return true
		}
	}
	return false
}

var endAnnotation = []path{
	{{name: "metadata"}, {name: "annotations"}, {name: metav1.InitialEventsAnnotationKey}},
	{{name: "rows"}, {kind: each}, {name: "object"}, {name: "metadata"}, {name: "annotations"}, {name: metav1.InitialEventsAnnotationKey}},
}
