package golden_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/listwatch/listwatch/conformance/golden"
	"github.com/listwatch/listwatch/fakeserver"
)

var (
	serverURL           = flag.String("url", "", "replay against the server at this `URL`, in real time, not against fakeserver")
	compactURL          = flag.String("compact-url", "", "POST to this `URL` makes the server at -url forget its history (fakeserver's steering: URL/-/compact)")
	update              = flag.Bool("update", false, "rewrite testdata/known-failures.txt, keeping its reasons")
	report              = flag.Bool("report", false, "show how the steps differ that are known to fail (with -v)")
	ignoreManagedFields = flag.Bool("ignore-managed-fields", false, "leave managedFields out of the comparison")
)

const knownFailures = "testdata/known-failures.txt"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// replay is one run over the whole corpus.
type replay struct {
	target  *golden.Target // nil: a fakeserver for each scenario
	options golden.Options
	known   golden.Known

	mu      sync.Mutex
	results []golden.Result
}

func TestTheServerAnswersAsRecorded(t *testing.T) {
	scenarios, err := golden.Load(os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	r := &replay{options: golden.Options{IgnoreManagedFields: *ignoreManagedFields}, known: readKnown(t)}
	if *serverURL != "" {
		r.target = remote()
	}
	// Subtests that are not parallel run before all that are.
	t.Run("scenarios", func(t *testing.T) {
		for _, scenario := range scenarios {
			t.Run(scenario.Name, func(t *testing.T) {
				if r.target == nil || !scenario.Exclusive {
					t.Parallel()
				}
				r.scenario(t, scenario)
			})
		}
	})
	if *update {
		writeKnown(t, r.known)
	}
	if testing.Verbose() {
		var table strings.Builder
		_ = golden.WriteTable(&table, r.results) // a Builder does not fail
		fmt.Print(table.String())
	}
}

// scenario replays one and judges its steps.
func (r *replay) scenario(t *testing.T, scenario *golden.Scenario) {
	result, err := r.run(t, scenario)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = append(r.results, result)
	if result.Skipped != "" {
		t.Logf("not run: %s", result.Skipped)
	}
	if *update {
		r.known.Update(result)
	}
	failed, fixed := r.known.Judge(result)
	for _, step := range failed {
		t.Error(step.Describe(scenario.Name))
	}
	for _, id := range fixed {
		if !*ignoreManagedFields { // which makes steps pass that are rightly on the list
			t.Errorf("%s passes now: remove its line from %s", id, knownFailures)
		}
	}
	if *report {
		for _, step := range result.Steps {
			if len(step.Differences) > 0 {
				t.Log(step.Describe(scenario.Name))
			}
		}
	}
}

func (r *replay) run(t *testing.T, scenario *golden.Scenario) (result golden.Result, err error) {
	if r.target != nil {
		return golden.Run(t.Context(), *r.target, scenario, r.options)
	}
	synctest.Test(t, func(t *testing.T) {
		// The scenarios have dates in them that must be in the past.
		time.Sleep(time.Until(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)))
		server, newErr := fakeserver.New(fakeserver.Options{})
		if newErr != nil {
			t.Fatal(newErr)
		}
		defer server.Close()
		result, err = golden.Run(t.Context(), inProcess(server), scenario, r.options)
	})
	return result, err
}

// inProcess is a fakeserver that serves one scenario.
func inProcess(server *fakeserver.Server) golden.Target {
	config := server.Config()
	return golden.Target{
		URL:       config.Host,
		Transport: config.Transport,
		Fresh:     true,
		Compact: func(ctx context.Context) error {
			_, err := server.Compact(ctx)
			return err
		},
	}
}

// remote is the server that -url names.
func remote() *golden.Target {
	target := &golden.Target{
		URL:       strings.TrimSuffix(*serverURL, "/"),
		Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100},
	}
	if *compactURL != "" {
		target.Compact = func(ctx context.Context) error { return post(ctx, *compactURL) }
	}
	return target
}

func post(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("POST %s: %s", url, response.Status)
	}
	return nil
}

func readKnown(t *testing.T) golden.Known {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(knownFailures))
	if os.IsNotExist(err) && *update {
		return golden.Known{}
	}
	if err != nil {
		t.Fatal(err)
	}
	known, err := golden.ReadKnown(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return known
}

func writeKnown(t *testing.T, known golden.Known) {
	t.Helper()
	var list bytes.Buffer
	if err := known.Write(&list); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.FromSlash(knownFailures), list.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
