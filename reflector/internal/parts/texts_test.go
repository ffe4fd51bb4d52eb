package parts

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestTextsAreKeptAsTheyAre(t *testing.T) {
	usual := &Usual{}
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		size := random.IntN(10_000)
		texts := usual.Texts(size)
		var kept, want [][]byte
		for range 100 {
			data := make([]byte, random.IntN(1<<random.IntN(8)))
			for i := range data {
				data[i] = byte(random.IntN(256))
			}
			want = append(want, bytes.Clone(data))
			kept = append(kept, texts.Keep(data))
			clear(data)
		}
		usual.Learn(size, &texts)
		for i := range kept {
			if !bytes.Equal(kept[i], want[i]) || cap(kept[i]) != len(kept[i]) {
				t.Fatalf("%q of capacity %d is %q", want[i], cap(kept[i]), kept[i])
			}
		}
	}
}

func TestTextsOfTheUsualSizeTakeOnePiece(t *testing.T) {
	usual, data := &Usual{}, make([]byte, 1000)
	keep := func() {
		texts := usual.Texts(len(data))
		for i := range 20 {
			texts.Keep(data[20*i:][:20])
		}
		usual.Learn(len(data), &texts)
	}
	for range 5 {
		keep()
	}
	if n := testing.AllocsPerRun(100, keep); n > 2 { // 1, but the race detector costs one
		t.Errorf("%v pieces", n)
	}
}

func TestALargeObjectTakesNoLargeBlock(t *testing.T) {
	usual := &Usual{}
	usual.Learn(1, &Texts{total: 1})
	if texts := usual.Texts(1 << 20); texts.next > largestBlock {
		t.Errorf("a block of %d bytes", texts.next)
	}
}
