package differential

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var (
	walks = flag.Int("walks", 300, "random scripts to run")
	seed  = flag.Uint64("seed", 0, "run only the random script with this seed")
)

// TestRandomScriptsEndWithTheServersCollection: whatever happens on the way,
// once the server is well again both informers hold its collection, at its
// version, and each handler was told of it, with calls that continue each other.
func TestRandomScriptsEndWithTheServersCollection(t *testing.T) {
	seeds := make([]uint64, *walks)
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}
	if *seed != 0 {
		seeds = []uint64{*seed}
	}
	for _, n := range seeds {
		s, err := parseScript(randomScript(n))
		if err != nil {
			t.Fatal(err)
		}
		for name, make := range map[string]player{"client-go": newUpstream, "ours": playOwn} {
			playThrough(t, s, make, func(p *play) {
				problems := p.atOdds()
				for _, h := range p.handlers {
					problems = append(problems, h.breaks(name == "ours")...)
				}
				for _, problem := range problems {
					t.Errorf("%s, -seed=%d: %s", name, n, problem)
				}
			})
		}
		if t.Failed() {
			t.Fatalf("the script:\n%s", s.text)
		}
	}
}

// maxRequests is what nobody needs in a quarter of an hour of trouble.
const maxRequests = 300

// atOdds says where an informer and its server disagree.
func (p *play) atOdds() (problems []string) {
	var all []string
	for _, o := range p.server.sorted() {
		all = append(all, describe(p.server.kind.object(o)))
	}
	slices.Sort(all)
	want := fmt.Sprintf("at %q: %s", fmt.Sprint(p.server.version), strings.Join(all, ", "))
	if got := p.store()[0].text; got != want {
		problems = append(problems, fmt.Sprintf("the store is  %s\nthe server is %s", got, want))
	}
	for _, h := range p.handlers {
		if got := h.last(); !slices.Equal(got, all) {
			problems = append(problems, fmt.Sprintf("%s knows %q, the server has %q", h.name, got, all))
		}
	}
	if n := len(p.server.requests); n > maxRequests {
		problems = append(problems, fmt.Sprintf("%d requests", n))
	}
	return problems
}

// last is what a handler knows of after all calls.
func (h *handler) last() (all []string) {
	for _, calls := range h.calls {
		if c := calls[len(calls)-1]; c.op != "delete" {
			all = append(all, c.new)
		}
	}
	slices.Sort(all)
	return all
}

// breaks finds calls that do not continue the ones before. Strict is what only
// our informer promises: nothing of unknown objects, nothing without a change,
// and one object from add to delete.
func (h *handler) breaks(strict bool) (problems []string) {
	for _, calls := range h.calls {
		known := ""
		for _, c := range calls {
			legal := true
			switch c.op {
			case "add":
				legal = known == ""
				known = c.new
			case "update":
				legal = c.old == known && (!strict || c.old != c.new && uidOf(c.old) == uidOf(c.new))
				known = c.new
			case "delete":
				legal = !strict || known != "" && uidOf(c.old) == uidOf(known) && (!c.missed || c.old == known)
				known = ""
			}
			if !legal {
				problems = append(problems, fmt.Sprintf("%s: a break at %q", h.name, c))
			}
		}
	}
	return problems
}

// randomScript writes a script of trouble that is over in the end.
func randomScript(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	lines := []string{pick("list-only", "timeouts"), pick("timeouts", "unstructured", "metadata"), pick("page-size 2", "others 1"), "put a b c", "start"}
	for range 5 + r.IntN(25) {
		lines = append(lines, randomCommand(r, pick))
		if r.IntN(3) > 0 {
			lines = append(lines, "wait "+pick("1ms", "500ms", "2s", "11s", "1m", "3m"))
		}
	}
	lines = append(lines, "answer normally", "add late", "wait 10m", "bookmark")
	return "Random.\n\n" + strings.Join(lines, "\n") + "\n\ndiffers: nothing\n"
}

// randomCommand is one change, or one trouble. What client-go does not get out
// of is not among them: answers that never come or never end.
func randomCommand(r *rand.Rand, pick func(...string) string) string {
	name := func() string { return pick("a", "b", "c", "d", "e") }
	status := func() string {
		return pick("410", "gone", "too-large", "429", "500", "503", "504", "403", "404", "400", "refused", "reset")
	}
	inStream := func() string { return pick("410", "429", "500", "503", "403", "too-large", "undecodable") }
	times := fmt.Sprintf(" x%d", 1+r.IntN(3))
	switch r.IntN(16) {
	case 0, 1, 2:
		return "put " + name() + pick("", " on=x", " on=y")
	case 3, 4:
		return "delete " + name()
	case 5:
		return "recreate " + name()
	case 6:
		return pick("others 3", "bookmark", "forget")
	case 7, 8:
		return "close"
	case 9:
		return "send ERROR " + inStream()
	case 10:
		return "send " + pick("wrong-type", "no-metadata", "table", "nil")
	case 11:
		return "answer list " + pick(status(), "table", "nil") + times
	case 12:
		return "answer page " + pick("410", "500", "429") + times
	case 13:
		return "answer watch " + pick(status(), "ends", "ends=3s", "ends=30s", "broken", "error="+inStream()) + times
	case 14:
		return "answer watch-list " + pick(status(), "no-end ends=3s", "silent ends", "no-end error="+inStream(), "broken") + times
	default:
		return "close"
	}
}
