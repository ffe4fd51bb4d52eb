package informertest

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// life is the history of most cases: a is deleted and made anew, b stays.
const life = "+a u@5, +b v@6, ~a u@7=x, -a u@9=x, ~b v@10, +a w@12, ~a w@14"

func TestLegalTracesAreAccepted(t *testing.T) {
	for name, trace := range map[string]string{
		"every event":               "sync, add a u@5, add b v@6, update a u@5 u@7, delete a u@9, update b v@6 v@10, add a w@12, update a w@12 w@14, settled 14",
		"a list, then events":       "initial a u@7, initial b v@6, sync, delete a u@9, update b v@6 v@10, add a w@12",
		"a handler that ends early": "initial a u@7",
		"skipped versions":          "sync, add a u@5, add b v@6, delete a u@9, add a w@14, update b v@6 v@10, settled 20",
		"a life that nobody saw":    "initial b v@6, sync, add a w@14, update b v@6 v@10, settled 14",
		"a relist found the end":    "initial a u@5, initial b v@6, sync, gone a u@5, add a w@12, update b v@6 v@10, settled 13",
		"a deletion without re-add": "initial a u@7, initial b v@6, sync, gone a u@7, settled 8",
		"settled before what was told": "initial a u@5, initial b v@6, sync, update a u@5 u@7, settled 6, delete a u@9, update b v@6 v@10, " +
			"settled 8, settled 11",
		"snapshots":                  "snapshot 0, snapshot 5 a u@5, snapshot 5 a u@5, snapshot 9 b v@6, snapshot 20 a w@14 b v@10",
		"a snapshot before its call": "snapshot 7 a u@7 b v@6, initial a u@7, initial b v@6, sync, snapshot 9 b v@6, delete a u@9",
		"sync of nothing":            "sync, settled 4, add a u@5",
		"sync after a deletion":      "initial b v@6, sync, settled 9",
		"content":                    "initial a u@5, initial b v@6, sync, update a u@5 u@7=x, delete a u@9=x",
		"the same key in the end":    "initial a u@5, initial b v@6, gone a u@5, initial a w@12, update b v@6 v@10, sync",
	} {
		t.Run(name, func(t *testing.T) {
			if err := Verify(makeHistory(t, life, 20), makeTrace(t, trace), VerifyOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// begin is how most illegal traces begin.
const begin = "initial a u@5, initial b v@6, sync, "

// illegal are traces, each with the rule that it breaks.
var illegal = map[string]struct {
	rule    Rule
	key     string
	trace   string
	counter string // the counter-example
	changes int    // lines of history in it
}{
	"an object of no version":     {Ghost, "a", begin + "update a u@5 u@8", "update a u@5 u@8", 3},
	"an object of another UID":    {Ghost, "a", "initial a z@5", "initial a z@5", 2},
	"a key that never was":        {Ghost, "c", begin + "add c u@5", "add c u@5", 0},
	"a deleted object":            {Ghost, "a", "initial a u@9", "initial a u@9", 3},
	"last state of no version":    {Ghost, "a", "initial a u@6, gone a u@6", "initial a u@6", 2},
	"other content":               {WrongContent, "a", begin + "update a u@5 u@7=y", "update a u@5 u@7=y", 3},
	"other content of the last":   {WrongContent, "a", begin + "delete a u@9=y", "delete a u@9=y", 3},
	"other content in a snapshot": {WrongContent, "a", "snapshot 7 a u@7=y b v@6", "snapshot 7 a u@7=y b v@6", 3},
	"back from the dead":          {Resurrection, "a", begin + "update b v@6 v@10, delete a u@9, add a u@7", "delete a u@9, add a u@7", 4},
	"back from the dead, updated": {Resurrection, "a", begin + "delete a u@9, update a u@5 u@7", "delete a u@9, update a u@5 u@7", 4},
	"back after a relist":         {Resurrection, "a", begin + "gone a u@5, add a u@7", "gone a u@5, add a u@7", 3},
	"an add twice":                {DuplicateAdd, "a", begin + "add a u@7", "initial a u@5, add a u@7", 3},
	"an add instead of two calls": {DuplicateAdd, "a", begin + "add a w@12", "initial a u@5, add a w@12", 5},
	"an update of nothing":        {Unknown, "a", "sync, update a u@5 u@7", "update a u@5 u@7", 3},
	"a delete of nothing":         {Unknown, "a", "sync, delete a u@9", "delete a u@9", 3},
	"a delete twice":              {Unknown, "a", begin + "delete a u@9, delete a u@9", "delete a u@9, delete a u@9", 3},
	"a forgotten update":          {WrongOld, "b", begin + "update b v@10 v@10", "initial b v@6, update b v@10 v@10", 2},
	"another old object":          {WrongOld, "a", begin + "update a u@5 u@7, update a u@5 u@7", "update a u@5 u@7, update a u@5 u@7", 3},
	"old content":                 {WrongOld, "a", "initial a u@7=x, update a u@7=y u@7", "initial a u@7=x, update a u@7=y u@7", 3},
	"an update between lives":     {MixedLives, "a", begin + "update a u@5 w@12", "update a u@5 w@12", 5},
	"the end of another life":     {MixedLives, "a", begin + "gone a w@12", "initial a u@5, gone a w@12", 5},
	"an older version":            {Backwards, "a", begin + "update a u@5 u@7, update a u@7 u@5", "update a u@7 u@5", 3},
	"an older last state":         {Backwards, "a", begin + "update a u@5 u@7, gone a u@5", "update a u@5 u@7, gone a u@5", 3},
	"the same version":            {Repeated, "a", begin + "update a u@5 u@5", "update a u@5 u@5", 2},
	"a delete that was none":      {FalseDelete, "b", begin + "gone b v@6", "gone b v@6", 2},
	"an exact delete elsewhere":   {FalseDelete, "a", begin + "update a u@5 u@7, delete a u@8", "delete a u@8", 2},
	"a last state not told":       {WrongLast, "a", begin + "gone a u@7", "initial a u@5, gone a u@7", 3},
	"sync before an object":       {EarlySync, "b", "initial a u@7, sync", "sync", 2},
	"sync twice":                  {EarlySync, "", begin + "sync", "sync, sync", 0},
	"initial after the sync":      {WrongInitial, "a", "sync, initial a u@5", "sync, initial a u@5", 2},
	"not initial before it":       {WrongInitial, "a", "add a u@5", "add a u@5", 2},
	"a lost add":                  {Lost, "a", begin + "delete a u@9, update b v@6 v@10, settled 14", "settled 14", 2},
	"a lost first add":            {Lost, "b", "sync, add a u@5, settled 6", "settled 6", 2},
	"a lost update":               {Lost, "b", begin + "delete a u@9, settled 10", "initial b v@6, settled 10", 2},
	"a lost delete":               {Lost, "a", begin + "update b v@6 v@10, settled 10", "initial a u@5, settled 10", 4},
	"a snapshot without b":        {WrongSnapshot, "b", "snapshot 7 a u@7", "snapshot 7 a u@7", 2},
	"a snapshot with a ghost":     {WrongSnapshot, "a", "snapshot 9 a u@7 b v@6", "snapshot 9 a u@7 b v@6", 3},
	"a snapshot with a stranger":  {WrongSnapshot, "c", "snapshot 9 b v@6 c u@7", "snapshot 9 b v@6 c u@7", 0},
	"a snapshot of before":        {WrongSnapshot, "b", begin + "snapshot 10 b v@6", "snapshot 10 b v@6", 2},
	"a version too new":           {OutOfHistory, "", "snapshot 21 a w@14 b v@10", "snapshot 21 a w@14 b v@10", 0},
	"a version before":            {OutOfHistory, "", "settled 0", "settled 0", 0},
	"an empty one after all":      {WrongSnapshot, "", "snapshot 5 a u@5, snapshot 0", "snapshot 5 a u@5, snapshot 0", 0},
	"a snapshot from before":      {SnapshotBack, "", "snapshot 5 a u@5, snapshot 8 a u@7 b v@6, snapshot 5 a u@5", "snapshot 8 a u@7 b v@6, snapshot 5 a u@5", 0},
	"told before it is there":     {SnapshotLate, "a", begin + "update a u@5 u@7, snapshot 6 a u@5 b v@6", "update a u@5 u@7, snapshot 6 a u@5 b v@6", 3},
}

func TestEachRuleIsEnforcedAndTheCounterExampleIsShort(t *testing.T) {
	for name, test := range illegal {
		t.Run(name, func(t *testing.T) {
			err := Verify(makeHistory(t, life, 20), makeTrace(t, test.trace), VerifyOptions{})
			v, ok := errors.AsType[*Violation](err)
			if !ok || !errors.Is(err, ErrIllegal) {
				t.Fatalf("got %v, want a violation", err)
			}
			if v.Rule != test.rule || v.Key != test.key {
				t.Errorf("rule %q of %q, want %q of %q", v.Rule, v.Key, test.rule, test.key)
			}
			if len(v.History) != test.changes {
				t.Errorf("%d changes are shown, want %d", len(v.History), test.changes)
			}
			if got := showTrace(v.Trace); got != test.counter {
				t.Errorf("counter-example %s\nwant %s\n%v", got, test.counter, err)
			}
		})
	}
}

func TestOptionsAllowWhatTheySay(t *testing.T) {
	for name, test := range map[string]struct {
		options VerifyOptions
		rule    Rule // without the option
		trace   string
	}{
		"latest only: sync between two moments": {VerifyOptions{LatestOnly: true}, EarlySync, "initial a u@5, initial b v@10, sync"},
		"latest only: a newer last state":       {VerifyOptions{LatestOnly: true}, WrongLast, "initial a u@5, initial b v@6, sync, gone a u@7"},
		"resyncs":                               {VerifyOptions{Resyncs: true}, Repeated, "initial a u@5, initial b v@6, sync, update a u@5 u@5"},
		"unmarked: adds of both kinds":          {VerifyOptions{Unmarked: true}, WrongInitial, "initial a u@5, add b v@6"},
	} {
		t.Run(name, func(t *testing.T) {
			history, trace := makeHistory(t, life, 20), makeTrace(t, test.trace)
			if err := Verify(history, trace, test.options); err != nil {
				t.Errorf("with the option: %v", err)
			}
			if v, ok := errors.AsType[*Violation](Verify(history, trace, VerifyOptions{})); !ok || v.Rule != test.rule {
				t.Errorf("without the option: %v, want %q", v, test.rule)
			}
		})
	}
}

// labelledLife is a history in which a leaves and enters the filter "labelled".
func labelledLife(t *testing.T) *History {
	t.Helper()
	h := NewHistory(1, nil)
	for i, change := range []struct {
		event watch.EventType
		x     string
	}{{watch.Added, "1"}, {watch.Modified, "1"}, {watch.Modified, "0"}, {watch.Modified, "1"}, {watch.Modified, "0"}, {watch.Deleted, "0"}} {
		obj := object("a", "u", uint64(5+i))
		obj.Labels = map[string]string{"x": change.x}
		if err := h.Record(change.event, obj); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestAFilteredHandlerIsJudgedByWhatItsFilterLetsThrough(t *testing.T) {
	for name, test := range map[string]struct {
		rule  Rule // "" is legal
		trace string
	}{
		"leaving, with the state before":    {"", "initial a u@5, sync, update a u@5 u@6, delete a u@6, add a u@8, delete a u@8, settled 10"},
		"an end merged with the deletion":   {"", "initial a u@5, sync, update a u@5 u@6, delete a u@10"},
		"a leave that a relist found":       {"", "initial a u@5, sync, gone a u@5"},
		"an add before the sync":            {"", "add a u@5, sync"},
		"the whole in its snapshots":        {"", "initial a u@6, sync, snapshot 7 a u@7, delete a u@6"},
		"an end that was not the next":      {FalseDelete, "initial a u@5, sync, delete a u@5"},
		"a state that the filter holds off": {Ghost, "initial a u@5, sync, update a u@5 u@7"},
		"an initial add after the sync":     {WrongInitial, "sync, initial a u@5"},
		"a leave that was not told":         {Lost, "initial a u@6, sync, settled 7"},
		"a filtered snapshot":               {WrongSnapshot, "initial a u@6, sync, snapshot 7"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Verify(labelledLife(t), makeTrace(t, test.trace), VerifyOptions{Filter: labelled})
			v, illegal := errors.AsType[*Violation](err)
			if illegal != (test.rule != "") || illegal && v.Rule != test.rule {
				t.Errorf("got %v, want %q", err, test.rule)
			}
		})
	}
}

func TestAViolationShowsTheTraceAndTheHistoryOfItsKeyOnly(t *testing.T) {
	trace := makeTrace(t, "initial a u@5, initial b v@6, sync, update b v@6 v@10, delete a u@9, add a u@7")
	err := Verify(makeHistory(t, life, 20), trace, VerifyOptions{})
	want := `illegal trace: resurrection of a: added u@7 after its deletion, at 9, was told
  trace (2 of 6 entries):
    #4    deleted a u@9, exact
    #5    added a u@7
  history:
         5 ADDED    a u@5
         7 MODIFIED a u@7 "x"
         9 DELETED  a u@9 "x"
        12 ADDED    a w@12`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if strings.Contains(err.Error(), " b ") {
		t.Error("another key is shown")
	}
}
