package golden_test

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/listwatch/listwatch/conformance/golden"
	"github.com/listwatch/listwatch/fakeserver"
)

// TestAServerCanBeUsedAgain replays over TCP, as -url does, twice on one server:
// what the first run made must be gone in the second.
func TestAServerCanBeUsedAgain(t *testing.T) {
	server, err := fakeserver.New(fakeserver.Options{Steer: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	target := golden.Target{URL: url, Transport: transport, Compact: func(ctx context.Context) error { return post(ctx, url+"/-/compact") }}
	for range 2 {
		for _, name := range []string{"create-names", "delete-propagation", "list-compacted", "namespace-lifecycle"} {
			replayQuick(t, target, name)
		}
	}
	target.Compact = nil
	if result := replayQuick(t, target, "list-compacted"); result.Skipped != "requires compact" || len(result.Steps) > 0 {
		t.Errorf("without a way to compact: skipped because it %q, after %d steps", result.Skipped, len(result.Steps))
	}
}

// replayQuick replays one scenario and wants the steps to fail that are known.
func replayQuick(t *testing.T, target golden.Target, name string) golden.Result {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := golden.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	result, err := golden.Run(t.Context(), target, scenario, golden.Options{})
	if err != nil {
		t.Fatal(err)
	}
	failed, fixed := readKnown(t).Judge(result)
	for _, step := range failed {
		t.Error(step.Describe(name))
	}
	for _, id := range fixed {
		t.Errorf("%s passes here and not in a bubble", id)
	}
	return result
}
