package informer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/deltafifo"
)

// unionRig is a union of parts A, B, C … and the cache that its rounds add up to.
type unionRig struct {
	t      *testing.T
	union  *union[*thing]
	cache  tableView
	rv     string
	synced bool
	heard  func(notice[*thing]) // if set, is told of each
}

func newUnionRig(t *testing.T, parts int) *unionRig {
	return &unionRig{t: t, union: newUnion[*thing](parts), cache: viewOf()}
}

// object makes one of "key:uid@version"; the same text gives a new copy each time.
func (r *unionRig) object(text string) *thing {
	key, rest, _ := strings.Cut(text, ":")
	uid, version, _ := strings.Cut(rest, "@")
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		r.t.Fatalf("%q: %v", text, err)
	}
	return newThing(key, uid, n)
}

// round plays one, written as operations of parts:
//
//	A+k:u@5       part A has version 5 of k
//	A-k:u@6       part A lost it at version 6; A-k@6 without a state
//	A=k:u@5,…@9   part A lists this, at version 9; A=@9 nothing
//	A~9           a bookmark for part A
//	A!9           the resource of part A is gone, after version 9
//
// It returns the notices, "synced" among them.
func (r *unionRig) round(text string) []string {
	r.t.Helper()
	batches := make([]deltas, len(r.union.parts))
	for op := range strings.FieldsSeq(text) {
		p := int(op[0] - 'A')
		batches[p] = append(batches[p], r.delta(op[1], op[2:]))
	}
	return r.play(batches)
}

func (r *unionRig) delta(op byte, text string) deltafifo.Delta[*thing] {
	switch op {
	case '+':
		return delta(deltafifo.Updated, r.object(text))
	case '-':
		if key, version, _ := strings.Cut(text, "@"); !strings.Contains(text, ":") {
			return deltafifo.Delta[*thing]{Type: deltafifo.Deleted, Key: key, ResourceVersion: version}
		}
		return delta(deltafifo.Deleted, r.object(text))
	case '=':
		at := strings.LastIndex(text, "@")
		var objects []*thing
		for item := range strings.SplitSeq(text[:at], ",") {
			if item != "" {
				objects = append(objects, r.object(item))
			}
		}
		return replaced(text[at+1:], objects...)
	case '!':
		return vanished(text)
	default:
		return deltafifo.Delta[*thing]{Type: deltafifo.Bookmark, ResourceVersion: text}
	}
}

// vanished says that the resource of a part is gone, after resourceVersion.
func vanished(resourceVersion string) deltafifo.Delta[*thing] {
	d := replaced(resourceVersion)
	d.Replacement.Vanished = true
	return d
}

func (r *unionRig) play(batches []deltas) (told []string) {
	r.t.Helper()
	out := r.union.round(r.cache, batches, !r.synced)
	if r.synced {
		out.replacedAt = -1
	}
	seen := maps.Clone(r.cache)
	for k, n := range out.notices {
		if r.heard != nil {
			r.heard(n)
		}
		if k == out.replacedAt {
			told = append(told, "synced")
		}
		told = append(told, n.String())
		if problem := seen.observe(n); problem != "" {
			r.t.Errorf("illegal history: %s", problem)
		}
	}
	if out.replacedAt == len(out.notices) {
		told = append(told, "synced")
	}
	r.synced = r.synced || out.replacedAt >= 0
	r.cache = r.cache.after(out)
	if diff := gocmp.Diff(r.cache, seen); diff != "" {
		r.t.Errorf("told (-cache +told):\n%s", diff)
	}
	if out.resourceVersion != "" {
		r.rv = out.resourceVersion
	}
	return told
}

type unionCase struct {
	rounds []string
	want   []string // notices of the last round
	cache  []string
	rv     string
}

var unionCases = map[string]unionCase{
	"an end that is older than what is shown comes with that": {
		rounds: []string{"A=a:u1@3@5 B=@5", "B+a:u1@9", "B-a:u1@12", "A-a:u1@7"},
		want:   []string{"delete a:u1@9"}, rv: "7",
	},
	"an end without a state, of an older version than is shown, is not exact": {
		rounds: []string{"A=a:u1@3@5 B=@5", "B+a:u1@9", "B-a:u1@12", "A-a@7"},
		want:   []string{"delete a:u1@9"}, rv: "7",
	},
	"in sync when all parts have listed": {
		rounds: []string{"A=a:u1@1@5", "A+c:u3@8", "B=b:u2@2@6 A+d:u4@9 B+e:u5@7"},
		want:   []string{"initial d:u4@9", "initial b:u2@2", "synced", "add e:u5@7"},
		cache:  []string{"a:u1@1", "b:u2@2", "c:u3@8", "d:u4@9", "e:u5@7"}, rv: "7",
	},
	"without a version until then": {
		rounds: []string{"A=a:u1@1@5"}, want: []string{"initial a:u1@1"}, cache: []string{"a:u1@1"},
	},
	"the oldest version is that of all": {
		rounds: []string{"A=@5 B=@6", "A~9"}, rv: "6",
	},
	"a bookmark of the oldest moves it": {
		rounds: []string{"A=@5 B=@6", "A~9", "B~12"}, rv: "9",
	},
	"versions compare as numbers": {
		rounds: []string{"A=@9 B=@10"}, want: []string{"synced"}, rv: "9",
	},
	"an event of one part is told, whatever the others are at": {
		rounds: []string{"A=@5 B=@6", "B+b:u1@7", "B+b:u1@8 B-b:u1@9"},
		want:   []string{"update b:u1@7 -> b:u1@8", "delete b:u1@9 exact"}, rv: "5",
	},
	"a list of one part concerns its keys only": {
		rounds: []string{"A=a:u1@1,x:u2@2@5 B=b:u3@3@6", "A=a:u1@7@9"},
		want:   []string{"delete x:u2@2", "update a:u1@1 -> a:u1@7"}, cache: []string{"a:u1@7", "b:u3@3"}, rv: "6",
	},
	"an object of two parts is told once": {
		rounds: []string{"A=a:u1@1@5 B=a:u1@1@6", "A+a:u1@7", "B+a:u1@7"}, cache: []string{"a:u1@7"}, rv: "7",
	},
	"it stays while one part has it": {
		rounds: []string{"A=a:u1@1@5 B=a:u1@1@6", "A-a:u1@7"}, cache: []string{"a:u1@1"}, rv: "6",
	},
	"and leaves with the last": {
		rounds: []string{"A=a:u1@1@5 B=a:u1@1@6", "A-a:u1@7", "B-a:u1@7"}, want: []string{"delete a:u1@7 exact"}, rv: "7",
	},
	"it leaves by lists of both": {
		rounds: []string{"A=a:u1@1@5 B=a:u1@1@6", "A=@8", "B=@8"}, want: []string{"delete a:u1@1"}, rv: "8",
	},
	"an older version of another part is not shown": {
		rounds: []string{"A=a:u1@7@7 B=@3", "B+a:u1@4"}, cache: []string{"a:u1@7"}, rv: "4",
	},
	"nor when the part with the newer one lost it": {
		rounds: []string{"A=a:u1@7@7 B=@3", "B+a:u1@4", "A-a:u1@8"}, cache: []string{"a:u1@7"}, rv: "4",
	},
	"nor while the other catches up": {
		rounds: []string{"A=a:u1@7@7 B=a:u1@2@3", "A-a:u1@8", "B+a:u1@5"}, cache: []string{"a:u1@7"}, rv: "5",
	},
	"but when it has": {
		rounds: []string{"A=a:u1@7@7 B=a:u1@2@3", "A-a:u1@8", "B+a:u1@5", "B+a:u1@7 B+a:u1@8"},
		want:   []string{"update a:u1@7 -> a:u1@8"}, cache: []string{"a:u1@8"}, rv: "8",
	},
	"or it leaves, which is no exact end": {
		rounds: []string{"A=a:u1@7@7 B=a:u1@2@3", "A-a:u1@8", "B-a:u1@7"}, want: []string{"delete a:u1@7"}, rv: "7",
	},
	"what a list lacks does not come back by a part that lags behind": {
		rounds: []string{"A=a:u1@3@5 B=@2", "A=@9", "B+a:u1@3"}, rv: "3",
	},
	"but if it is there after all": {
		rounds: []string{"A=a:u1@3@5 B=@2", "A=@9", "B+a:u1@3", "B~9"}, want: []string{"add a:u1@3"}, cache: []string{"a:u1@3"}, rv: "9",
	},
	"a move is an update if the new part is heard first": {
		rounds: []string{"A=a:u1@1@5 B=@5", "B+a:u1@6", "A-a:u1@6"}, cache: []string{"a:u1@6"}, rv: "6",
	},
	"the update is told then": {
		rounds: []string{"A=a:u1@1@5 B=@5", "B+a:u1@6"},
		want:   []string{"update a:u1@1 -> a:u1@6"}, cache: []string{"a:u1@6"}, rv: "5",
	},
	"a move is an update if both are heard in one round": {
		rounds: []string{"A=a:u1@1@5 B=@5", "A-a:u1@6 B+a:u1@6"},
		want:   []string{"update a:u1@1 -> a:u1@6"}, cache: []string{"a:u1@6"}, rv: "6",
	},
	"so is one the other way": {
		rounds: []string{"A=@5 B=a:u1@1@5", "A+a:u1@6 B-a:u1@6"},
		want:   []string{"update a:u1@1 -> a:u1@6"}, cache: []string{"a:u1@6"}, rv: "6",
	},
	"a move heard in the wrong order is delete, then add": {
		rounds: []string{"A=a:u1@1@5 B=@5", "A-a:u1@6", "B+a:u1@6"}, want: []string{"add a:u1@6"}, cache: []string{"a:u1@6"}, rv: "6",
	},
	"a name that goes to another object of another part is delete, then add": {
		rounds: []string{"A=a:u1@1@5 B=@5", "A-a:u1@6 B+a:u2@7"},
		want:   []string{"delete a:u1@6 exact", "add a:u2@7"}, cache: []string{"a:u2@7"}, rv: "6",
	},
	"which is no exact end if the part that tells it lagged behind": {
		rounds: []string{"A=a:u1@2@3 B=a:u1@7@7", "B-a:u1@8", "A-a:u1@7 B+a:u2@9"},
		want:   []string{"delete a:u1@7", "add a:u2@9"}, cache: []string{"a:u2@9"}, rv: "7",
	},
	"also if the new object is heard first": {
		rounds: []string{"A=a:u1@1@5 B=@5", "B+a:u2@7", "A-a:u1@6"}, cache: []string{"a:u2@7"}, rv: "6",
	},
	"a move to and fro in one round ends where it ends": {
		rounds: []string{"A=a:u1@1@5 B=@5", "A-a:u1@6 B+a:u1@6 B-a:u1@7"},
		want:   []string{"update a:u1@1 -> a:u1@6", "delete a:u1@7 exact"}, rv: "6",
	},
	"a deletion of what a part does not have is nothing": {
		rounds: []string{"A=a:u1@1@5 B=@5", "B-a:u1@6"}, cache: []string{"a:u1@1"}, rv: "5",
	},
	"a deletion without a state is exact": {
		rounds: []string{"A=a:u1@1@5 B=@5", "A-a@6"}, want: []string{"delete a:u1@1 exact"}, rv: "5",
	},
	"an unchanged list changes nothing": {
		rounds: []string{"A=a:u1@1@5 B=a:u1@1,b:u2@2@5", "A=a:u1@1@7 B=a:u1@1,b:u2@2@7"}, cache: []string{"a:u1@1", "b:u2@2"}, rv: "7",
	},
	"a list with another UID is delete, then add": {
		rounds: []string{"A=a:u1@1@5 B=@5", "A=a:u2@6@7"}, want: []string{"delete a:u1@1", "add a:u2@6"}, cache: []string{"a:u2@6"}, rv: "5",
	},
	"of two items with one key the later counts": {
		rounds: []string{"A=a:u1@1,b:u2@2,a:u1@3@5 B=@5"},
		want:   []string{"initial b:u2@2", "initial a:u1@3", "synced"}, cache: []string{"a:u1@3", "b:u2@2"}, rv: "5",
	},
	"what comes back with its resource is as it was": {
		rounds: []string{"A=a:u1@7@7 B=@3", "A!7", "A=a:u1@7@7"}, want: []string{"add a:u1@7"}, cache: []string{"a:u1@7"}, rv: "3",
	},
	"also if a part that lags behind lost it meanwhile": {
		rounds: []string{"A=a:u1@7@7 B=a:u1@2@2", "A!7", "B=@6", "A=a:u1@7@7"}, want: []string{"add a:u1@7"}, cache: []string{"a:u1@7"}, rv: "6",
	},
	"but a part that lags behind brings no older version back": {
		rounds: []string{"A=a:u1@7@7 B=@3", "A!7", "B+a:u1@4"}, rv: "4",
	},
	"history that goes back is followed": {
		rounds: []string{"A=a:u1@50@60 B=@60", "A=a:u1@40@45"}, want: []string{"update a:u1@50 -> a:u1@40"}, cache: []string{"a:u1@40"}, rv: "45",
	},
	"of an object of two parts when both went back": {
		rounds: []string{"A=a:u1@50@60 B=a:u1@50@60", "A=a:u1@40@45", "B=a:u1@40@45"},
		want:   []string{"update a:u1@50 -> a:u1@40"}, cache: []string{"a:u1@40"}, rv: "45",
	},
	"then a version may be another one": {
		rounds: []string{"A=a:u1@40@60 B=b:u2@40@60", "A=a:u1@40@45"}, want: []string{"update a:u1@40 -> a:u1@40"}, cache: []string{"a:u1@40", "b:u2@40"}, rv: "45",
	},
	"though the part that showed the version lost it": {
		rounds: []string{"A=a:u1@50@60 B=a:u1@40@45", "A=@44"}, want: []string{"update a:u1@50 -> a:u1@40"}, cache: []string{"a:u1@40"}, rv: "44",
	},
}

func TestUnionShowsTheNewestOfWhatAnyPartHolds(t *testing.T) {
	for name, test := range unionCases {
		t.Run(name, func(t *testing.T) {
			r := newUnionRig(t, 2)
			var told []string
			for _, round := range test.rounds {
				told = r.round(round)
			}
			if diff := gocmp.Diff(test.want, told); diff != "" {
				t.Errorf("notices of the last round (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(test.cache, r.shown()); diff != "" {
				t.Errorf("cache (-want +got):\n%s", diff)
			}
			if r.rv != test.rv {
				t.Errorf("version %q, want %q", r.rv, test.rv)
			}
		})
	}
}

func TestUnionKnowsWhenVersionsMayBeMissing(t *testing.T) {
	for name, test := range map[string]struct {
		rounds  []string
		missing bool // between the two versions that the last notice tells of
	}{
		"none of a part's own":               {[]string{"A=a:u1@5@5 B=@5", "A+a:u1@9"}, false},
		"none of what two parts have":        {[]string{"A=a:u1@5@5 B=a:u1@5@5", "B+a:u1@9"}, false},
		"none when it moves":                 {[]string{"A=a:u1@5@5 B=@5", "A-a:u1@9 B+a:u1@9"}, false},
		"those of a part that lags behind":   {[]string{"A=a:u1@5@5 B=@5", "B+a:u1@9"}, true},
		"those before another part's newer":  {[]string{"A=a:u1@5@5 B=a:u1@7@7", "A+a:u1@9"}, true},
		"those before a move of older state": {[]string{"A=a:u1@5@5 B=@5", "B+a:u1@9", "B-a:u1@12", "A-a:u1@13 B+a:u1@13"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newUnionRig(t, 2)
			var last notice[*thing]
			r.heard = func(n notice[*thing]) { last = n }
			for _, round := range test.rounds {
				r.round(round)
			}
			if last.kind != noticeUpdate || last.merged != test.missing {
				t.Errorf("%v: versions may be missing: %v, want %v", last, last.merged, test.missing)
			}
		})
	}
}

func (r *unionRig) shown() (out []string) {
	for _, key := range slices.Sorted(maps.Keys(r.cache)) {
		out = append(out, show(r.cache[key]))
	}
	return out
}

func TestUnionKeepsOneCopyOfAVersionThatTwoPartsHold(t *testing.T) {
	r := newUnionRig(t, 2)
	r.round("A=a:u1@1@5 B=a:u1@1@6")
	r.round("A+a:u1@7")
	r.round("B+a:u1@7")
	for p, m := range r.union.parts {
		if m.held["a"] != r.cache["a"] {
			t.Errorf("part %d holds another copy than the cache", p)
		}
	}
}

func TestUnionForgetsWhatNoPartHolds(t *testing.T) {
	r := newUnionRig(t, 2)
	r.round("A=@1 B=@1")
	for k := range 100 {
		r.round(fmt.Sprintf("A+k%[1]d:u@%[2]d B+k%[1]d:u@%[2]d", k, 3*k+2))
		r.round(fmt.Sprintf("A-k%d:u@%d", k, 3*k+3))
		r.round(fmt.Sprintf("B-k%d:u@%d", k, 3*k+3))
	}
	u := r.union
	if n := len(u.parts[0].held) + len(u.parts[1].held) + len(u.shared) + len(u.ahead) + len(u.gone) + len(u.moving); n > 0 || len(r.cache) > 0 {
		t.Errorf("%d entries and %d objects are left", n, len(r.cache))
	}
}

func TestUnionListsAnewInEveryRun(t *testing.T) {
	r := newUnionRig(t, 2)
	r.round("A=a:u1@1@5 B=b:u2@2@5")
	r.union.restart(nil)
	r.synced = false
	if told := r.round("A=a:u1@1,c:u3@6@9"); !slices.Equal(told, []string{"initial c:u3@6"}) {
		t.Errorf("told %q after one list", told)
	}
	if told := r.round("B=@9"); !slices.Equal(told, []string{"delete b:u2@2", "synced"}) {
		t.Errorf("told %q after the second", told)
	}
}

func TestUnionKnowsOfAnEndThatTwoPartsTellAndAThirdHasNotHeardOf(t *testing.T) {
	r := newUnionRig(t, 3)
	r.round("A=a:u1@7@7 B=a:u1@2@3 C=@3")
	r.round("A-a:u1@8")
	if told := r.round("B-a:u1@7"); !slices.Equal(told, []string{"delete a:u1@7"}) {
		t.Errorf("told %q of the end", told)
	}
	if told := r.round("C+a:u1@7"); len(told) > 0 {
		t.Errorf("told %q after it", told)
	}
}

func TestUnionRemembersEndsInARunThatNotAllPartsHaveListedIn(t *testing.T) {
	r := newUnionRig(t, 3)
	r.round("A=a:u1@3@5 B=@2 C=@2")
	r.union.restart(r.cache)
	r.round("A=@9 B=@2")
	if told := r.round("B+a:u1@3"); len(told) > 0 {
		t.Errorf("told %q of what has ended", told)
	}
}

func TestUnionHasNoVersionWhereVersionsCannotBeCompared(t *testing.T) {
	r := newUnionRig(t, 2)
	r.round("A=@x B=@y")
	if r.rv != "" {
		t.Errorf("version %q", r.rv)
	}
	r.round("A~z B~z")
	if r.rv != "z" {
		t.Errorf("version %q, want the one that both are at", r.rv)
	}
}

func TestUnionTrustsNoVersionOfAPartWhoseHistoryWentBack(t *testing.T) {
	r := newUnionRig(t, 2)
	r.round("A=a:u1@5@5 B=b:u2@5@5")
	for _, known := range []bool{false, true} {
		list := r.delta('=', "a:u1@5@6") // has overtaken
		list.Replacement.Rewound = known
		want := []string(nil)
		if known {
			want = []string{"update a:u1@5 -> a:u1@5"}
		}
		if told := r.play([]deltas{{list}, nil}); !slices.Equal(told, want) {
			t.Errorf("rewound %v: told %q, want %q", known, told, want)
		}
	}
}
