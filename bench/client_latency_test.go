package bench

import (
	"bytes"
	"flag"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// wireLatencyEvents is how many events each client is told of.
var wireLatencyEvents = flag.Int("events", 2000, "the events of each client of BenchmarkWireLatency")

// BenchmarkWireLatency has one event on the way at a time, and measures what is the
// client's own part of its latency: from when its whole frame is there to be read
// until the handler is called. A client that is cold has asked the server something
// before each event: meanwhile its threads have gone to sleep, and what they need from
// the caches of the processor. Target 11.
func BenchmarkWireLatency(b *testing.B) {
	for state, cold := range map[string]bool{"warm": false, "cold": true} {
		for name, inJSON := range map[string]bool{"json": true, "proto": false} {
			b.Run(name+"/"+state, func(b *testing.B) {
				us, them := runPairs(b, order{
					JSON: inJSON, List: true, Events: *wireLatencyEvents, Handlers: 1, Alone: true, Cold: cold})
				reportOutcomes(b, us, them, []outcomeOf{
					{"p50-us", "", func(r outcome) float64 { return r.P50 }},
					{"p99-us", "p99-", func(r outcome) float64 { return r.P99 }},
				})
			})
		}
	}
}

// frameByFrame is the body of a watch that is told of one event at a time. It is in
// the process of its client: neither a kernel nor net/http is between the two, which
// would take longer than a client does and are the same for both.
type frameByFrame struct {
	frames chan []byte
	rest   []byte
	// at is when the whole frame was at hand of the goroutine that reads: that it had
	// to be woken is not the client's doing either.
	at   time.Time
	told time.Time // when the handler was called
}

// newFrameByFrame is the answer to all watches that go through requests. update is
// what the handler is to do.
func newFrameByFrame(requests *requestClock, told *calls) (f *frameByFrame, update func()) {
	f = &frameByFrame{frames: make(chan []byte)}
	requests.instead = f.answer
	return f, func() {
		f.told = time.Now()
		told.update()
	}
}

func (f *frameByFrame) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		f.rest = <-f.frames
		f.at = time.Now()
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Close does nothing: the process ends before its watch does.
func (f *frameByFrame) Close() error { return nil }

// answer is that of a server to the watch.
func (f *frameByFrame) answer(r *http.Request) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType(r)}}, Body: f, ContentLength: -1, Request: r,
	}
}

// measure sends o.Events, each when the handler was told of the one before.
func (f *frameByFrame) measure(o order, frames []wireFrame, told *calls) (latencies []time.Duration) {
	for k := range o.Events {
		frame := frames[k%len(frames)]
		copy(frame.bytes[frame.version:], strconv.Itoa(2*firstVersion+k))
		told.expect(1)
		if o.Cold {
			get(o, "/nothing")
		}
		f.frames <- frame.bytes
		told.wait()
		latencies = append(latencies, f.told.Sub(f.at))
	}
	return latencies[len(latencies)/10:] // the others were the warm-up
}

// follow measures the latencies of o.Events.
func (f *frameByFrame) follow(o order, told *calls, measure func(func())) (p50, p99 float64) {
	frames := wireFrames(o)
	var latencies []time.Duration
	measure(func() { latencies = f.measure(o, frames, told) })
	return percentile(latencies, 0.5), percentile(latencies, 0.99)
}

// wireFrame is a modification, and where in it its version is.
type wireFrame struct {
	bytes   []byte
	version int
}

// wireFrames are modifications of the pods that wireServer has, as it sends them.
func wireFrames(o order) []wireFrame {
	version := strconv.Itoa(firstVersion + 234_567)
	frames := make([]wireFrame, min(o.Count, o.Events))
	for i := range frames {
		var frame bytes.Buffer
		pod := wirePod(i, version)
		if o.JSON {
			sendJSON(&frame, "MODIFIED", "Pod", bytesOf(pod, false))
		} else {
			sendProto(&frame, "MODIFIED", "Pod", bytesOf(pod, true))
		}
		frames[i] = wireFrame{frame.Bytes(), bytes.Index(frame.Bytes(), []byte(version))}
	}
	return frames
}
