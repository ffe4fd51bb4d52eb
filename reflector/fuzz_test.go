package reflector

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
)

// walker drives a machine with arbitrary inputs and checks what must hold
// whatever a server does.
type walker struct {
	t       testing.TB
	m       machine
	s       state
	at      time.Time
	bracket bool // BeginReplace without its end
	open    bool // stream without its close
	forced  bool // by the last input
	hurried int  // requests in a row without wait, progress or passage of time
}

// maxHurried: watch-list, list, list without pages, and the latter two again
// for the newest state; then a watch, whose failure waits.
const maxHurried = 6

func (w *walker) feed(in input) {
	w.t.Helper()
	before := w.s
	w.forced = in.kind == inputForced
	next, effects := w.m.step(w.s, in)
	w.s = next
	if len(effects) == 0 {
		if next.phase != Stopped && next != before {
			w.t.Fatalf("input %+v changed the state without an effect:\n%+v\n%+v", in, before, next)
		}
		return
	}
	if in.kind == inputPage || in.kind == inputPart || in.kind == inputForced || in.kind == inputEvent || in.kind == inputElapsed {
		w.hurried = 0
	}
	replaced := false
	for i, e := range effects {
		brings := e.kind <= effectWait
		if last := i == len(effects)-1; next.phase != Stopped && brings != last || next.phase == Stopped && brings {
			w.t.Fatalf("in %v, effect %d of %s brings an input: %v", next.phase, i, trace(effects), brings)
		}
		replaced = replaced || e.kind == effectEnd
		w.effect(e)
	}
	if w.bracket != next.replacement.replacing || w.open != next.stream.open && effects[len(effects)-1].kind != effectOpen {
		w.t.Fatalf("bracket %v, stream %v, but state %+v", w.bracket, w.open, next)
	}
	order, err := resourceversion.CompareResourceVersion(next.resourceVersion, before.resourceVersion)
	if err == nil && order < 0 && !replaced {
		w.t.Fatalf("version went back from %s to %s by %s", before.resourceVersion, next.resourceVersion, trace(effects))
	}
	if next.phase == Stopped && (w.bracket || w.open) {
		w.t.Fatalf("stopped with bracket %v, stream %v", w.bracket, w.open)
	}
}

func (w *walker) effect(e effect) {
	w.t.Helper()
	must := func(ok bool, what string) {
		if !ok {
			w.t.Fatalf("%v: %s; state %+v", e, what, w.s)
		}
	}
	switch e.kind {
	case effectBegin:
		must(!w.bracket, "bracket in a bracket")
		w.bracket = true
	case effectEnd, effectAbort:
		must(w.bracket, "end without begin")
		w.bracket = false
	case effectItem, effectItems, effectHold:
		must(w.bracket, "item outside a bracket")
	case effectDeliver, effectBookmark, effectRelease:
		must(!w.bracket, "event inside a bracket")
	case effectOpen:
		must(!w.open, "second stream")
		must(e.initialEvents || e.resourceVersion != "", "watch without a version")
		w.hurried++
	case effectList:
		must(!w.open, "list beside a stream")
		w.hurried++
	case effectNext:
		must(w.open || w.s.phase == Listing && w.bracket, "read of a closed stream")
	case effectClose:
		must(w.open, "close without open")
		w.open = false
	case effectWait:
		must(e.delay >= w.m.backoff.Base || w.forced, "hardly any wait")
		w.hurried = 0
	}
	must(w.hurried <= maxHurried, "requests without a pause")
}

// eager are the kinds of input that belong to each phase.
func eager(s state) []inputKind {
	switch {
	case s.phase == Listing:
		return []inputKind{inputPage, inputPage, inputOpened, inputPart, inputFailed}
	case s.stream.open && s.phase == Watching:
		return []inputKind{inputEvent, inputEvent, inputEvent, inputFailed, inputForced}
	case s.stream.open:
		return []inputKind{inputEvent, inputEvent, inputEvent, inputFailed}
	case s.phase == WatchListing || s.phase == Watching:
		return []inputKind{inputOpened, inputOpened, inputFailed}
	case s.phase == BackingOff:
		return []inputKind{inputElapsed, inputForced}
	}
	return []inputKind{inputStart}
}

// decode makes an input of four bytes. One in sixteen may be of a kind that
// does not belong to the phase.
func (w *walker) decode(b []byte) input {
	kinds := eager(w.s)
	in := input{kind: kinds[int(b[0])%len(kinds)], random: float64(b[3]) / 256}
	if b[0] >= 0xf0 {
		in.kind = inputKind(b[0] % byte(inputStop+1))
	}
	versions := []string{"", "0", "1", "2", "7", "12", "13", "99", "100", "abc"}
	version := versions[int(b[1])%len(versions)]
	types := []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark}
	in.page = pageInput{resourceVersion: version}
	if b[2]%3 == 0 {
		in.page.continueToken = version
	}
	in.event = eventInput{eventType: types[int(b[2])%len(types)], resourceVersion: version, initialEventsEnd: b[3]%2 == 0}
	in.failure = failure{class: failureClass(b[1] % byte(classNoInitialEnd+1)), retryAfter: time.Duration(b[2]) * time.Second / 8}
	passed := time.Duration(b[3]) * time.Second
	if passed >= earlyEnd || in.failure.class == classSilent {
		w.hurried = 0
	}
	w.at = w.at.Add(passed)
	in.at = w.at
	return in
}

func (w *walker) walk(data []byte) {
	w.at = epoch
	for chunk := range slices.Chunk(data, 4) {
		if len(chunk) < 4 {
			break
		}
		in := w.decode(chunk)
		if in.kind == inputOpened && !w.s.stream.open && (w.s.phase == Watching || w.s.phase == WatchListing) {
			w.open = true
		}
		w.feed(in)
	}
	w.feed(input{kind: inputStop, at: w.at})
}

func FuzzWhateverAServerDoesTheInvariantsHold(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		seed := make([]byte, 400)
		for i := range seed {
			seed[i] = byte(random.Uint32())
		}
		f.Add(seed, random.IntN(2) == 0, uint8(random.IntN(3)))
	}
	f.Fuzz(func(t *testing.T, data []byte, watchList bool, pageSize uint8) {
		m := testMachine(t, Options{DisableWatchList: !watchList, PageSize: int64(pageSize)})
		(&walker{t: t, m: m}).walk(data)
	})
}
