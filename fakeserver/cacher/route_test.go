package cacher

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listState is a cache at resource version 9 with snapshots from 5 on.
type listState struct{ phase phase }

// view is what Cacher.view would say.
func (s listState) view(need listNeed) listView {
	return listView{
		phase: s.phase, ahead: need.rv > 9,
		snapshot: need.kind == exactState && need.rv >= 5 && need.rv <= 9,
	}
}

// route writes the whole decision about a list: wait, source, and what is read.
func (s listState) route(opts *ListOptions) string {
	need, err := needOf(opts)
	if err != nil {
		got := status(err).ErrStatus
		return fmt.Sprintf("%d %s", got.Code, got.Message)
	}
	route := routeList(need, s.view(need))
	if route == (listRoute{}) {
		return "429"
	}
	text := [...]string{"", "wait, ", "wait for store, "}[route.wait] +
		[...]string{"429", "cache", "snapshot", "store"}[route.source]
	if need.kind == exactState {
		text += fmt.Sprintf(" @%d", need.rv)
	}
	if need.from != "" {
		text += " from " + need.from
	}
	if need.limit > 0 {
		text += fmt.Sprintf(" limit %d", need.limit)
	}
	return text
}

// listRow is a row of the table; at: the resource versions 7, 3 and 12 have a
// snapshot, are before them, and are ahead of the cache.
type listRow struct {
	rv    string
	match metav1.ResourceVersionMatch
	limit int64
	token string
	want  string
}

func (row listRow) options(predicate Predicate) *ListOptions {
	predicate.Namespace = "n"
	return &ListOptions{
		Predicate:       predicate,
		ResourceVersion: row.rv, Match: row.match, Limit: row.limit, Continue: row.token,
	}
}

var (
	token7, token3, token12 = encodeContinue("n", "n/b", 7), encodeContinue("n", "n/b", 3), encodeContinue("n", "n/b", 12)
	tokenOn                 = encodeContinue("n", "n/b", inconsistent)
	one                     = Predicate{Scope: Scope{Name: "a"}}
)

// badInput are the rows of table B: refused whatever the state.
var badInput = []listRow{
	{token: token7, rv: "7", want: "400 specifying resource version is not allowed when using continue"},
	{token: tokenOn, rv: "7", want: "400 specifying resource version is not allowed when using continue"},
	{token: "abc", want: "400 invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value"},
	{rv: "abc", want: `400 invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`},
	{rv: "-1", want: `400 invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax`},
}

func TestAReadyCacheServesEveryRowOfTheTable(t *testing.T) {
	for _, row := range append(badInput, []listRow{
		{want: "wait for store, cache"},
		{limit: 5, want: "wait for store, cache limit 5"},
		{limit: -5, want: "wait for store, cache"},
		{rv: "0", want: "cache"},
		{rv: "0", limit: 5, want: "cache"},
		{rv: "0", match: notOlder, limit: 5, want: "cache"},
		{rv: "7", want: "wait, cache"},
		{rv: "12", want: "wait, cache"},
		{rv: "7", limit: -1, want: "wait, cache"},
		{rv: "7", match: notOlder, want: "wait, cache"},
		{rv: "7", match: notOlder, limit: 5, want: "wait, cache limit 5"},
		{rv: "7", limit: 5, want: "snapshot @7 limit 5"}, // as Exact
		{rv: "3", limit: 5, want: "store @3 limit 5"},
		{rv: "12", limit: 5, want: "wait, snapshot @12 limit 5"},
		{rv: "7", match: exact, want: "snapshot @7"},
		{rv: "9", match: exact, want: "snapshot @9"},
		{rv: "3", match: exact, want: "store @3"},
		{rv: "12", match: exact, want: "wait, snapshot @12"},
		{rv: "7", match: exact, limit: 5, want: "snapshot @7 limit 5"},
		{token: token7, want: "snapshot @7 from n/b"},
		{token: token7, limit: 5, want: "snapshot @7 from n/b limit 5"},
		{token: token3, limit: 5, want: "store @3 from n/b limit 5"},
		{token: token12, limit: 5, want: "wait, snapshot @12 from n/b limit 5"},
		{token: token7, rv: "0", limit: 5, want: "snapshot @7 from n/b"},
		{token: token3, rv: "0", limit: 5, want: "store @3 from n/b"},
		{token: tokenOn, limit: 5, want: "wait for store, cache from n/b limit 5"},
		{token: tokenOn, rv: "0", limit: 5, want: "wait for store, cache from n/b"},
	}...) {
		if got := (listState{ready}).route(row.options(Predicate{})); got != row.want {
			t.Errorf("%+v\n got %s\nwant %s", row, got, row.want)
		}
		if got := (listState{ready}).route(row.options(labelled("1"))); got != row.want {
			t.Errorf("%+v with a selector\n got %s\nwant %s", row, got, row.want)
		}
	}
}

func TestAListOfOneNameGoesToTheStoreForOldStates(t *testing.T) {
	for _, phase := range []phase{ready, pending} {
		for _, row := range []listRow{
			{rv: "7", match: exact, want: "store @7"},
			{rv: "12", match: exact, want: "store @12"},
			{rv: "7", limit: 5, want: "store @7 limit 5"},
			{token: token7, want: "store @7 from n/b"},
		} {
			if got := (listState{phase}).route(row.options(one)); got != row.want {
				t.Errorf("%v %+v\n got %s\nwant %s", phase, row, got, row.want)
			}
		}
	}
	for want, row := range map[string]listRow{
		"wait for store, cache": {}, "cache": {rv: "0"}, "wait, cache": {rv: "7", match: notOlder},
	} {
		if got := (listState{ready}).route(row.options(one)); got != want {
			t.Errorf("%+v\n got %s\nwant %s", row, got, want)
		}
	}
}

func TestACacheThatIsNotReadyRefusesAllButModestLists(t *testing.T) {
	for _, row := range append(badInput, []listRow{
		{want: "429"},
		{rv: "0", want: "429"},
		{rv: "7", want: "429"},
		{rv: "7", match: notOlder, want: "429"},
		{rv: "7", match: exact, want: "429"},
		{rv: "12", match: exact, want: "429"},
		{rv: "3", match: exact, want: "store @3"}, // no cache would have that
		{token: token7, want: "429"},
		{token: tokenOn, want: "429"},
		{limit: -1, want: "429"},
		{limit: 5, want: "store limit 5"},
		{rv: "7", limit: 5, want: "store @7 limit 5"},
		{rv: "12", limit: 5, want: "store @12 limit 5"},
		{rv: "7", match: notOlder, limit: 5, want: "store limit 5"},
		{rv: "7", match: exact, limit: 5, want: "store @7 limit 5"},
		{token: token7, limit: 5, want: "store @7 from n/b limit 5"},
		{token: tokenOn, limit: 5, want: "store from n/b limit 5"},
	}...) {
		for _, phase := range []phase{starting, pending} {
			if got := (listState{phase}).route(row.options(Predicate{})); got != row.want {
				t.Errorf("%v %+v\n got %s\nwant %s", phase, row, got, row.want)
			}
		}
	}
	for _, predicate := range []Predicate{labelled("1"), one} {
		if got := (listState{pending}).route(listRow{limit: 5}.options(predicate)); got != "429" {
			t.Errorf("with a selector: %s", got)
		}
	}
}

func TestAGetIsServedByTheStoreUnlessACacheMayAnswer(t *testing.T) {
	for _, c := range []struct {
		rv    string
		phase phase
		want  getRoute
	}{
		{"", ready, getRoute{store: true}},
		{"", pending, getRoute{store: true}},
		{"0", ready, getRoute{}},
		{"7", ready, getRoute{rv: 7}},
		{"0", pending, getRoute{store: true}},
		{"7", starting, getRoute{store: true}},
	} {
		if got, err := routeGet(c.rv, c.phase); got != c.want || err != nil {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	for _, phase := range []phase{ready, pending} {
		if _, err := routeGet("abc", phase); status(err).ErrStatus.Code != 400 {
			t.Errorf("%v: got %v", phase, err)
		}
	}
}

func TestWatchesAreRoutedByVersionAndInitialEvents(t *testing.T) {
	yes, no := ptr(true), ptr(false)
	for _, c := range []struct {
		rv        string
		initial   *bool
		bookmarks bool
		want      watchRoute
	}{
		{"", yes, true, watchRoute{start: initialConsistent, bookmark: true}},
		{"", yes, false, watchRoute{start: initialConsistent}},
		{"", nil, true, watchRoute{start: initialConsistent}},
		{"", no, true, watchRoute{start: liveNow}},
		{"0", yes, true, watchRoute{start: initialAny, bookmark: true}},
		{"0", nil, true, watchRoute{start: initialAny}},
		{"0", no, true, watchRoute{start: liveCache}},
		{"7", yes, true, watchRoute{start: initialNotOlder, rv: 7, bookmark: true}},
		{"7", nil, true, watchRoute{start: since, rv: 7}},
		{"7", no, true, watchRoute{start: since, rv: 7}},
	} {
		opts := WatchOptions{ResourceVersion: c.rv, SendInitialEvents: c.initial, AllowBookmarks: c.bookmarks}
		if got, err := routeWatch(&opts, ready); got != c.want || err != nil {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
		for _, phase := range []phase{starting, pending} {
			if got, err := routeWatch(&opts, phase); got != (watchRoute{start: refused}) || err != nil {
				t.Errorf("%v %+v: %+v, %v", phase, c, got, err)
			}
		}
	}
	for _, rv := range []string{"abc", "-5"} {
		_, err := routeWatch(&WatchOptions{ResourceVersion: rv}, pending)
		if got := status(err).ErrStatus; got.Code != 500 || got.Reason != "" {
			t.Errorf("%q: %v", rv, err)
		}
	}
}

func TestAConsistentReadGoesOnAsItsWaitEnded(t *testing.T) {
	late, refused, other := error(tooLarge(9, 8)), error(notReady(nil, 1)), ErrClosed
	for _, c := range []struct {
		err    error
		refuse bool
		want   consistentOutcome
	}{
		{nil, false, upToDate},
		{nil, true, upToDate},
		{late, false, behind},
		{late, true, refusedStale},
		{refused, false, behind},
		{refused, true, behind},
		{other, false, lost},
		{other, true, lost},
	} {
		if got := afterWait(c.err, c.refuse); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
