package cacher

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

func TestAnItemIsEncodedOncePerEncoder(t *testing.T) {
	item := &Item{}
	var calls atomic.Int32
	var readers sync.WaitGroup
	for i := range 64 {
		readers.Go(func() {
			id := fmt.Sprint(i % 3)
			text, err := item.Encoded(id, func(runtime.Object) ([]byte, error) {
				calls.Add(1)
				return []byte(id), nil
			})
			if err != nil || string(text) != id {
				t.Errorf("encoder %s: %q, %v", id, text, err)
			}
		})
	}
	readers.Wait()
	if got := calls.Load(); got != 3 {
		t.Errorf("encoded %d times", got)
	}
}

func TestAnEncodingErrorIsKept(t *testing.T) {
	item, want := &Item{}, errors.New("no")
	for range 2 {
		if _, err := item.Encoded("x", func(runtime.Object) ([]byte, error) { return nil, want }); err != want {
			t.Errorf("got %v", err)
		}
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = item.Encoded("y", func(runtime.Object) ([]byte, error) { panic("no") })
	}()
	if _, err := item.Encoded("y", nil); !errors.Is(err, errEncodePanicked) {
		t.Errorf("got %v", err)
	}
}

func TestTransitionsFollowWhatMatchedBeforeAndAfter(t *testing.T) {
	in, out := &Item{Labels: map[string]string{"x": "1"}}, &Item{}
	for _, c := range []struct {
		prev, next *Item
		want       watch.EventType
	}{
		{nil, in, watch.Added}, {out, in, watch.Added}, {in, in, watch.Modified},
		{in, out, watch.Deleted}, {in, nil, watch.Deleted},
		{nil, out, ""}, {out, out, ""}, {out, nil, ""},
	} {
		predicate := labelled("1")
		if got := predicate.transition(c.prev, c.next); got != c.want {
			t.Errorf("%v to %v: %q, want %q", c.prev, c.next, got, c.want)
		}
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	good := Options{Store: storage.NewMemory(), Prefix: "/pods/", Decode: decodeMeta}
	if _, err := good.withDefaults(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Options){
		"no store":          func(o *Options) { o.Store = nil },
		"no decoder":        func(o *Options) { o.Decode = nil },
		"no prefix":         func(o *Options) { o.Prefix = "" },
		"an open prefix":    func(o *Options) { o.Prefix = "/pods" },
		"a bare slash":      func(o *Options) { o.Prefix = "/" },
		"crossed bounds":    func(o *Options) { o.MinCapacity, o.MaxCapacity = 3, 2 },
		"negative bounds":   func(o *Options) { o.MinCapacity = -1 },
		"negative duration": func(o *Options) { o.BlockTimeout = -time.Second },
		"negative limit":    func(o *Options) { o.LagLimit = -1 },
	} {
		bad := good
		spoil(&bad)
		if c, err := New(bad); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", name, err)
			c.Close()
		}
	}
}
