package reflector

import (
	"context"
	"fmt"
	"io"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// BenchmarkEvent is what the machine, its driver and the status cost for each
// event, without decoding and without a queue.
func BenchmarkEvent(b *testing.B) {
	ctx, cancel := context.WithCancel(quiet())
	source := &endless{left: b.N, cancel: cancel, object: obj("a", "11"), versions: make([]string, 1000)}
	for i := range source.versions {
		source.versions[i] = fmt.Sprint(1000 + i)
	}
	r, err := New[*object](source, ignore{}, listFirst)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	_ = r.Run(ctx)
}

// endless is a source and stream of the given number of events.
type endless struct {
	left     int
	cancel   context.CancelFunc
	object   *object
	versions []string
}

func (e *endless) List(context.Context, metav1.ListOptions) (Page[*object], error) {
	return Page[*object]{ResourceVersion: "10"}, nil
}

func (e *endless) Watch(context.Context, metav1.ListOptions) (Stream[*object], error) { return e, nil }

func (e *endless) Next(context.Context) (Event[*object], error) {
	if e.left--; e.left < 0 {
		e.cancel()
		return Event[*object]{}, io.EOF
	}
	return Event[*object]{Type: watch.Modified, Object: e.object, ResourceVersion: e.versions[e.left%1000]}, nil
}

func (e *endless) Close() {}

// ignore is a Sink that does nothing.
type ignore struct{}

func (ignore) BeginReplace(string) {}
func (ignore) ReplaceItem(*object) {}
func (ignore) EndReplace(string)   {}
func (ignore) AbortReplace()       {}
func (ignore) Add(*object)         {}
func (ignore) Update(*object)      {}
func (ignore) Delete(*object)      {}
func (ignore) Bookmark(string)     {}
