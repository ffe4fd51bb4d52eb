package informertest

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// coloredHistory reads changes such as "+a u@5 red, ~a u@7 green, -a u@9 green",
// whose last words are values of the label x, and extends the history to the end.
func coloredHistory(t testing.TB, text string, to uint64) *History {
	t.Helper()
	h := NewHistory(1, nil)
	for change := range strings.SplitSeq(text, ", ") {
		f := strings.Fields(change[1:])
		v := version(t, f[1])
		obj := object(f[0], string(v.UID), v.ResourceVersion)
		obj.Labels = map[string]string{"x": f[2]}
		kinds := map[byte]watch.EventType{'+': watch.Added, '~': watch.Modified, '-': watch.Deleted}
		if err := h.Record(kinds[change[0]], obj); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Extend(to); err != nil {
		t.Fatal(err)
	}
	return h
}

func is(colors ...string) func(metav1.Object) bool {
	return func(obj metav1.Object) bool {
		for _, color := range colors {
			if obj.GetLabels()["x"] == color {
				return true
			}
		}
		return false
	}
}

// moves is a history of two parts, red and green: a moves from one to the other
// and back, b stays, c leaves both.
const moves = "+a u@5 red, +b v@6 green, ~a u@7 green, +c w@8 red, ~a u@9 green, ~b v@10 green, ~c w@11 blue, ~a u@12 red, -b v@14 green"

func verdict(t *testing.T, err error, rule Rule, key string) {
	t.Helper()
	v, illegal := errors.AsType[*Violation](err)
	if illegal != (rule != "") || illegal && (v.Rule != rule || v.Key != key) {
		t.Errorf("got %v, want %q of %q", err, rule, key)
	}
}

func TestAJoinedInformerIsJudgedByWhatItsPartsHad(t *testing.T) {
	for name, test := range map[string]struct {
		rule  Rule // "" is legal
		key   string
		trace string
	}{
		"all at one moment":                       {"", "", "snapshot 9 a u@9 b v@6 c w@8"},
		"green ahead, with the move":              {"", "", "snapshot 6 a u@7 b v@6"},
		"red ahead, so that nobody has it":        {"", "", "snapshot 6 b v@6 c w@8"},
		"red behind, so that the newest counts":   {"", "", "snapshot 5 a u@9 b v@10"},
		"green has lost what red does not have":   {"", "", "snapshot 11 b v@10"},
		"ahead, which red has yet to hear of":     {"", "", "snapshot 6 a u@9"},
		"the end of b is known before that of c":  {"", "", "snapshot 8 c w@8"},
		"one has not listed":                      {"", "", "snapshot 0 a u@5, snapshot 5 a u@5"},
		"one part at a time":                      {"", "", "snapshot 8 a u@9 b v@6 c w@8, snapshot 8 a u@9 b v@10 c w@8, snapshot 10 a u@9 b v@10 c w@8"},
		"a delete that is not told to the cache":  {WrongSnapshot, "c", "snapshot 11 a u@9 b v@10 c w@8"},
		"nobody behind":                           {WrongSnapshot, "", "snapshot 9 a u@12 b v@10"},
		"an object that is older than the moment": {WrongSnapshot, "a", "snapshot 9 a u@7 b v@6 c w@8"},
		"an object is missing":                    {WrongSnapshot, "", "snapshot 10 a u@9 c w@8"},
		"a version that never was":                {WrongSnapshot, "a", "snapshot 9 a u@8 b v@6 c w@8"},
		"a stranger":                              {WrongSnapshot, "d", "snapshot 9 a u@9 b v@6 c w@8 d z@3"},
		"objects of two moments of green":         {WrongSnapshot, "", "snapshot 7 a u@7 b v@10 c w@8"},
		"a snapshot of before":                    {SnapshotBack, "", "snapshot 9 a u@9 b v@6 c w@8, snapshot 8 a u@9 b v@6 c w@8"},

		"a move that green tells first": {"", "", "sync, add a u@5, update a u@5 u@7"},
		"a move that red tells first":   {"", "", "sync, add a u@5, delete a u@7, add a u@7"},
		"a move that a list found":      {"", "", "sync, add a u@5, gone a u@5, add a u@7"},
		"told before the snapshot":      {"", "", "sync, add a u@5, update a u@5 u@9, snapshot 5 a u@9 b v@6"},
		"synced at two moments":         {"", "", "initial a u@5, initial b v@10, sync"},
		"lost on the way":               {"", "", "sync, add a u@5, delete a u@7, settled 6"},
		"told again":                    {Unknown, "a", "sync, add a u@5, delete a u@7, delete a u@7"},
		"back from before":              {Resurrection, "a", "sync, add a u@7, update a u@7 u@9, delete a u@12, add a u@9"},
		"back from where it was":        {Resurrection, "a", "sync, add a u@7, gone a u@7, add a u@7"},
		"never told of the move":        {Lost, "a", "sync, add a u@5, delete a u@7, settled 7"},
		"never told of the end":         {Lost, "c", "sync, add a u@5, update a u@5 u@9, add b v@10, add c w@8, settled 11"},
	} {
		t.Run(name, func(t *testing.T) {
			trace := makeTrace(t, test.trace)
			verdict(t, Verify(coloredHistory(t, moves, 20), trace, VerifyOptions{Parts: []func(metav1.Object) bool{is("red"), is("green")}}), test.rule, test.key)
		})
	}
}
