package cacher

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestListsAreRoutedByVersionMatchLimitAndToken(t *testing.T) {
	at7, onward := encodeContinue("n", "n/b", 7), encodeContinue("n", "n/b", inconsistent)
	for _, c := range []struct {
		rv    string
		match metav1.ResourceVersionMatch
		limit int64
		token string
		want  listRoute
		err   string
	}{
		{want: listRoute{source: consistentRead}},
		{limit: 5, want: listRoute{source: consistentRead, limit: 5}},
		{limit: -5, want: listRoute{source: consistentRead}},
		{rv: "0", limit: 5, want: listRoute{source: anyState}},
		{rv: "0", match: notOlder, want: listRoute{source: anyState}},
		{rv: "7", want: listRoute{source: notOlderThan, rv: 7}},
		{rv: "7", match: notOlder, limit: 5, want: listRoute{source: notOlderThan, rv: 7, limit: 5}},
		{rv: "7", limit: 5, want: listRoute{source: exactState, rv: 7, limit: 5}},
		{rv: "7", limit: -1, want: listRoute{source: notOlderThan, rv: 7}},
		{rv: "7", match: exact, want: listRoute{source: exactState, rv: 7}},
		{token: at7, limit: 5, want: listRoute{source: exactState, rv: 7, from: "n/b", limit: 5}},
		{token: at7, rv: "0", limit: 5, want: listRoute{source: exactState, rv: 7, from: "n/b"}},
		{token: onward, limit: 5, want: listRoute{source: consistentRead, from: "n/b", limit: 5}},
		{token: at7, rv: "7", err: "specifying resource version is not allowed when using continue"},
		{rv: "abc", err: `invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`},
		{rv: "-1", err: `invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax`},
	} {
		opts := ListOptions{
			Predicate:       Predicate{Scope: Scope{Namespace: "n"}},
			ResourceVersion: c.rv, Match: c.match, Limit: c.limit, Continue: c.token,
		}
		got, err := routeList(&opts)
		if got != c.want || status(err).ErrStatus.Message != c.err {
			t.Errorf("%+v\n got %+v, %v\nwant %+v", opts, got, err, c.want)
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
		if got, err := routeWatch(&opts); got != c.want || err != nil {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
}
