package apiserver

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"
)

// gzipThreshold is the size, in bytes, from which an answer is compressed.
const gzipThreshold = 128 << 10

// gzipWriters are reused: each has a large state.
var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// takesGzip reads the header Accept-Encoding. Like a real server it looks for
// the bare word.
func takesGzip(h http.Header) bool {
	for word := range strings.SplitSeq(h.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(word) == "gzip" {
			return true
		}
	}
	return false
}

// acceptsGzip says whether the request that w answers does.
func acceptsGzip(w http.ResponseWriter) bool {
	tracked, ok := w.(*trackingWriter)
	return ok && tracked.gzip
}

// gzipWriter compresses an answer.
type gzipWriter struct {
	*gzip.Writer
}

// beginGzip sends the headers of an answer that will be compressed.
func beginGzip(w http.ResponseWriter, code int) gzipWriter {
	h := w.Header()
	h.Set("Content-Encoding", "gzip")
	h.Add("Vary", "Accept-Encoding")
	w.WriteHeader(code)
	z := gzipWriters.Get().(*gzip.Writer)
	z.Reset(w)
	return gzipWriter{z}
}

// close ends the answer; the writer must not be used any more.
func (g gzipWriter) close() {
	_ = g.Close() // fails only if the reader is gone: nobody is left to be told
	g.Reset(io.Discard)
	gzipWriters.Put(g.Writer)
}
