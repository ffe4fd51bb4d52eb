package informertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// fakeServer's version moves on with every answer in moves.
type fakeServer struct {
	moves []string
	log   *[]string
	err   error
}

func (s *fakeServer) ResourceVersion(context.Context) (string, error) {
	now := s.moves[0]
	if len(s.moves) > 1 {
		s.moves = s.moves[1:]
	}
	return now, s.err
}

func (s *fakeServer) SendBookmarks(_ context.Context, version string) error {
	*s.log = append(*s.log, "bookmarks "+version)
	return nil
}

type fakeInformer struct {
	name  string
	log   *[]string
	cache error
}

func (i *fakeInformer) Name() string { return i.name }

func (i *fakeInformer) WaitFor(_ context.Context, version string) error {
	*i.log = append(*i.log, i.name+" cache "+version)
	return i.cache
}

func (i *fakeInformer) WaitForHandlers(_ context.Context, version string) error {
	*i.log = append(*i.log, i.name+" handlers "+version)
	return nil
}

func TestQuiesceTakesEveryCacheAndHandlerToTheServersVersion(t *testing.T) {
	var log []string
	server := &fakeServer{moves: []string{"7"}, log: &log}
	at, err := Quiesce(t.Context(), server, &fakeInformer{name: "a", log: &log}, &fakeInformer{name: "b", log: &log})
	if err != nil || at != "7" {
		t.Errorf("got %q, %v", at, err)
	}
	want := []string{"bookmarks 7", "a cache 7", "b cache 7", "a handlers 7", "b handlers 7"}
	if !slices.Equal(log, want) {
		t.Errorf("got %q\nwant %q", log, want)
	}
}

func TestQuiesceGoesOnWhileTheServerDoes(t *testing.T) {
	var log []string
	at, err := Quiesce(t.Context(), &fakeServer{moves: []string{"7", "9", "9"}, log: &log}, &fakeInformer{name: "a", log: &log})
	if err != nil || at != "9" || !slices.Contains(log, "a handlers 9") {
		t.Errorf("got %q, %v after %q", at, err, log)
	}
}

func TestQuiesceSaysWhoIsNotQuiet(t *testing.T) {
	var log []string
	cause := fmt.Errorf("informer %q has stopped", "pods")
	_, err := Quiesce(t.Context(), &fakeServer{moves: []string{"7"}, log: &log}, &fakeInformer{log: &log, cache: cause})
	if !errors.Is(err, ErrNotQuiet) || !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	_, err = Quiesce(t.Context(), &fakeServer{moves: []string{""}, log: &log, err: cause})
	if !errors.Is(err, ErrNotQuiet) || !strings.Contains(err.Error(), "pods") {
		t.Errorf("got %v", err)
	}
	tb := &fakeTB{ctx: t.Context()}
	(&Recorder[*thing]{}).ExpectNone(tb, &fakeServer{moves: []string{"7"}, log: &log}, &fakeInformer{log: &log, cache: cause})
	if len(tb.failures) != 1 || !strings.Contains(tb.failures[0], "not quiet") {
		t.Errorf("failures %q", tb.failures)
	}
}
