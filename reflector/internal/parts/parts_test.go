package parts

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// part is one whose value tells what it was made of.
func part(kind uintptr, raw string, size int) *Part {
	value := fmt.Sprint(kind, " ", raw)
	return &Part{Raw: raw, Value: unsafe.Pointer(&value), Size: size}
}

// is checks that a part that was found is the one of kind and raw.
func is(t *testing.T, p *Part, kind uintptr, raw string) {
	t.Helper()
	if got, want := *(*string)(p.Value), fmt.Sprint(kind, " ", raw); got != want || p.Raw != raw {
		t.Fatalf("found %q, want %q", got, want)
	}
}

// held adds up what a Table holds.
func (t *Table) held() (size int64, count int) {
	places := t.places.Load()
	for i := range places.sets {
		for j := range places.sets[i].parts {
			if p := places.sets[i].parts[j].Load(); p != nil {
				size += int64(p.Size) + overhead
				count++
			}
		}
	}
	return size, count
}

func TestAPartIsFoundByItsBytesAndKind(t *testing.T) {
	table := New(1 << 20)
	for kind := range uintptr(3) {
		for _, raw := range []string{"", "a", "b", "ab"} {
			p, key := table.Find(kind, []byte(raw))
			if p != nil {
				t.Fatalf("found %q of kind %d before it was added", raw, kind)
			}
			table.Add(key, part(kind, raw, 10))
		}
	}
	for kind := range uintptr(3) {
		for _, raw := range []string{"", "a", "b", "ab"} {
			p, _ := table.Find(kind, []byte(raw))
			if p == nil {
				t.Fatalf("%q of kind %d is not found", raw, kind)
			}
			is(t, p, kind, raw)
		}
	}
}

func TestWhatComesAgainIsTold(t *testing.T) {
	table := New(1 << 20)
	for i := range 20 * fewest * marks { // through several sizes
		_, key := table.Find(1, fmt.Append(nil, i))
		if table.Again(key) {
			t.Fatalf("%d did not come before", i)
		}
		if !table.Again(key) {
			t.Fatalf("%d came before", i)
		}
	}
}

// Random walk beside a map that forgets nothing: what is found must be right, also
// where hashes are equal or nearly, and the limit must hold.
func TestNothingElseIsFoundAndTheLimitHolds(t *testing.T) {
	for name, hash := range map[string]func(raw []byte) uint64{
		"good":      nil,
		"equal":     func([]byte) uint64 { return 0 },
		"few":       func(raw []byte) uint64 { return uint64(len(raw)) << 61 },
		"same tags": func(raw []byte) uint64 { return uint64(raw[len(raw)-1]) << 56 },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(10) {
				random := rand.New(rand.NewPCG(seed, 1))
				limit := 1 << (12 + random.IntN(8))
				table := New(limit)
				if hash != nil {
					table.hash = hash
				}
				added := map[string]bool{}
				for i := range 5000 {
					raw, kind := fmt.Sprint("x", int(random.ExpFloat64()*200)), uintptr(random.IntN(2))
					p, key := table.Find(kind, []byte(raw))
					switch {
					case p != nil && !added[fmt.Sprint(kind, raw)]:
						t.Fatalf("found %q, which was not added", raw)
					case p != nil:
						is(t, p, kind, raw)
					case table.Again(key):
						table.Add(key, part(kind, raw, random.IntN(limit/50)))
						added[fmt.Sprint(kind, raw)] = true
					}
					if table.size.Load() > int64(limit) {
						t.Fatalf("%d bytes of %d", table.size.Load(), limit)
					}
					if i%100 > 0 {
						continue
					}
					if size, _ := table.held(); size > int64(limit) || size != table.size.Load() {
						t.Fatalf("%d bytes are held, %d counted, of %d", size, table.size.Load(), limit)
					}
				}
				if sets := len(table.places.Load().sets); sets > table.most {
					t.Errorf("%d sets, at most %d", sets, table.most)
				}
			}
		})
	}
}

func TestWhatIsFoundOftenStaysWhileOthersComeAndGo(t *testing.T) {
	table := New(1 << 16)
	_, key := table.Find(1, []byte("often"))
	table.Add(key, part(1, "often", 100))
	for i := range 10_000 {
		if p, _ := table.Find(1, []byte("often")); p == nil {
			t.Fatalf("lost after %d others", i)
		}
		raw := fmt.Append(nil, i)
		_, key := table.Find(1, raw)
		table.Add(key, part(1, string(raw), 500))
	}
	if size, count := table.held(); size < 1<<15 || count < 50 {
		t.Errorf("only %d bytes and %d parts are left", size, count)
	}
}

func TestSeveralGoroutinesShareATable(t *testing.T) {
	table := New(1 << 17)
	var all sync.WaitGroup
	for seed := range uint64(4) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			for range 20_000 {
				raw := fmt.Sprint(random.IntN(2000))
				p, key := table.Find(7, []byte(raw))
				if p != nil {
					is(t, p, 7, raw)
				} else if table.Again(key) {
					table.Add(key, part(7, raw, random.IntN(1000)))
				}
			}
		})
	}
	all.Wait()
	if size, _ := table.held(); size > 1<<17 || size != table.size.Load() {
		t.Errorf("%d bytes are held, %d counted", size, table.size.Load())
	}
}

func TestASmallTableIsSmall(t *testing.T) {
	for _, limit := range []int{0, 1, 1 << 10, 1 << 30} {
		places := New(limit).places.Load()
		if bytes := len(places.sets) * int(unsafe.Sizeof(set{})); bytes > 2<<10 {
			t.Errorf("%d bytes at a limit of %d", bytes, limit)
		}
	}
}

func TestTheArraysTakeNoMoreThanATwentyFifthOfTheLimit(t *testing.T) {
	for _, limit := range []int{1 << 16, 1 << 20, 3 << 20, 32 << 20} {
		table := New(limit)
		if bytes := table.most * int(unsafe.Sizeof(set{})); bytes > limit/25 {
			t.Errorf("%d bytes at a limit of %d", bytes, limit)
		}
	}
}
