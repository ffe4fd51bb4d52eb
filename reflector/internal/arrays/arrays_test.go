package arrays

import (
	"reflect"
	"runtime"
	"testing"
	"unsafe"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type element struct {
	text *string
	n    int32
}

func TestElementsAreZeroAndKeptAlive(t *testing.T) {
	maker := Of(reflect.TypeFor[[]element]())
	for _, n := range []int{0, 1, 2, short, short + 1, 1000} {
		for range 2 {
			list := unsafe.Slice((*element)(maker.Make(n)), n)
			for i := range list {
				if list[i] != (element{}) {
					t.Fatalf("element %d of %d is %+v", i, n, list[i])
				}
				text := string(rune('a' + i%26))
				list[i].text = &text
			}
			runtime.GC()
			for i := range list {
				if *list[i].text != string(rune('a'+i%26)) {
					t.Fatalf("element %d of %d is lost", i, n)
				}
			}
		}
	}
}

func TestAShortArrayIsOneAllocation(t *testing.T) {
	maker := Of(reflect.TypeFor[[]element]())
	maker.Make(3)
	if got := testing.AllocsPerRun(100, func() { maker.Make(3) }); got > 1 {
		t.Errorf("%v allocations", got)
	}
}
