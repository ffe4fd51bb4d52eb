package parts

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"
	"unsafe"
)

// perValue is how much of the heap each of many values takes, besides its own size.
func perValue[T any](of func() T) int {
	const count = 500
	values := make([]T, count)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // what earlier tests left in a sync.Pool outlives the first one
	runtime.ReadMemStats(&before)
	for i := range values {
		values[i] = of()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(values)
	return (int(after.HeapAlloc) - int(before.HeapAlloc)) / count
}

func TestTheSizeOfAMapIsAboutThatInTheHeap(t *testing.T) {
	for _, entries := range []int{1, 8, 9, 14, 15, 28, 29, 100} {
		small := func() (m map[[16]byte][16]byte) {
			m = make(map[[16]byte][16]byte, entries)
			for i := range entries {
				m[[16]byte{byte(i)}] = [16]byte{}
			}
			return m
		}
		large := func() (m map[[16]byte][200]byte) {
			m = map[[16]byte][200]byte{} // grows
			for i := range entries {
				m[[16]byte{byte(i)}] = [200]byte{}
			}
			return m
		}
		for name, sizes := range map[string][2]int{
			"small": {MapSize(entries, 16, 16), perValue(small)}, "large": {MapSize(entries, 16, 200), perValue(large)},
		} {
			if got, want := sizes[0], sizes[1]; got < want*3/4 || got > want*4/3 {
				t.Errorf("%d bytes for %d %s entries, which take %d", got, entries, name, want)
			}
		}
	}
}

func TestWhatAValueRefersToIsCounted(t *testing.T) {
	type node struct {
		Next  *node
		text  string
		Any   any
		Lists [2][]string
	}
	const size = int(unsafe.Sizeof(node{}))
	circle := &node{}
	circle.Next = circle
	for _, c := range []struct {
		value    any
		min, max int
	}{
		{5, 0, 0}, {"text", 4, 4}, {time.Now(), 0, 0}, {(*node)(nil), 0, 0}, {map[string]int(nil), 0, 0},
		{make([]byte, 3, 8), 8, 8}, {[]string{"abc", "d"}, 36, 36}, {node{text: "abc"}, 3, 3},
		{&node{Next: &node{text: "ab"}}, 2*size + 2, 2*size + 2},
		{node{Any: []any{"abc", nil, 1.5}}, 24 + 48 + 16 + 3 + 8, 24 + 48 + 16 + 3 + 8},
		{node{Lists: [2][]string{nil, {"ab"}}}, 18, 18},
		{map[string]string{"ab": "cde"}, MapSize(1, 16, 16) + 5, MapSize(1, 16, 16) + 5},
		{circle, enough, enough + size},
	} {
		if got := SizeBehind(reflect.ValueOf(c.value)); got < c.min || got > c.max {
			t.Errorf("%s: %d bytes, want %d to %d", fmt.Sprintf("%T", c.value), got, c.min, c.max)
		}
	}
}
