package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// reader calls seen once a line that contains part was written. The printer
// writes whole lines from one goroutine.
type reader struct {
	text bytes.Buffer
	part string
	seen func()
}

// Write implements io.Writer.
func (r *reader) Write(line []byte) (int, error) {
	if strings.Contains(string(line), r.part) {
		r.seen()
	}
	return r.text.Write(line)
}

func TestWatchGoesOnWithStatusLinesUntilInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out := &reader{part: "64 objects of 25 kinds, resourceVersions ", seen: interrupt}
	err := execute(ctx, settings{watch: true, every: 10 * time.Millisecond}, out)
	if err != nil {
		t.Errorf("the interrupt is an error: %v", err)
	}
	for _, part := range []string{
		"in step with the server", "kubectl --server http://127.0.0.1:", "watching until interrupted",
		" reconnects, 50 syncs\n", "interrupted; 64 objects of 25 kinds",
	} {
		if !strings.Contains(out.text.String(), part) {
			t.Errorf("the output lacks %q:\n%s", part, out.text.String())
		}
	}
}

func TestWatchInterruptedBeforeItsFirstStatusLineEndsWithStatusZero(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out := &reader{part: "watching until interrupted", seen: interrupt}
	var stderr bytes.Buffer
	if status := run(ctx, []string{"-watch"}, out, &stderr); status != 0 || stderr.Len() > 0 {
		t.Errorf("status %d, stderr %q", status, stderr.String())
	}
}
