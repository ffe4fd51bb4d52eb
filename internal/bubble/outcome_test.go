package bubble_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/internal/bubble"
)

// scenarioVariable names the scenario that a re-executed test binary runs.
const scenarioVariable = "LISTWATCH_BUBBLE_SCENARIO"

func TestMain(m *testing.M) { bubble.VerifyTestMain(m) }

// TestSpecs is the suite: the specs of passing_test.go, or one scenario.
func TestSpecs(t *testing.T) {
	suiteT = t
	if name := os.Getenv(scenarioVariable); name != "" {
		scenarios[name]()
		bubble.It("next spec runs", func() { fmt.Println("the next spec ran") })
	} else {
		passing()
	}
	bubble.RunSpecs(t, "bubble")
}

// failed is in the output of a suite with one failed spec.
const failed = "1 Failed"

func TestOutcomes(t *testing.T) {
	for name, want := range map[string][]string{
		"assertion":     {failed, "[It] fails", "<int>: 1", "2 Passed"},
		"helper":        {failed, "said by a helper"},
		"goroutine":     {failed, `<string>: there`},
		"table":         {failed, "doubling [It] fails", "2 Passed"},
		"eventually":    {failed, "Timed out after 10800", "waited 3h0m0s"},
		"panic":         {failed, "[PANICKED]", "out of order"},
		"skip":          {"0 Failed", "1 Skipped"},
		"goexit":        {failed, "the body ended its goroutine with runtime.Goexit", "cleaned up"},
		"deadlock":      {failed, "deadlock: the body waits for something that never happens", "bubble_test.waitForNobody(", "1 goroutine(s) of the bubble", "cleaned up", "in the spec at "},
		"ticking":       {failed, "deadlock: the body waits for something that never happens (given up after 720h0m0s"},
		"left behind":   {failed, "deadlock: main bubble goroutine has exited but blocked goroutines remain", "bubble_test.waitForNobody(", "in the spec at "},
		"outside":       {failed, "bubble given up: still running after 300ms of real time", "scenarios_test.go:"},
		"nested":        {failed, "bubbles do not nest"},
		"cleanup fails": {failed, "context canceled", "first registered, last run", "a cleanup ended its goroutine"},
		"cleanup waits": {failed, "deadlock: a cleanup waits for something", "cleaned up"},
		"pending":       {"0 Failed", "1 Pending"},
		"focus":         {"0 Failed", "2 Skipped"},

		"left behind after a failure": {failed, "first of all", "blocked goroutines remain"},
		"cleanup outside":             {failed, "bubble.Cleanup outside a bubble"},
		"cleanup after failure":       {failed, "cleanup 2\ncleanup 1\ncleanup 0"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := runScenario(t, name)
			if fails := want[0] == failed; fails != (err != nil) && name != "focus" {
				t.Errorf("the process ended with %v", err)
			}
			if line := markedLine(t, name); line != "" {
				want = append(want, line)
			}
			if name != "focus" {
				want = append(want, "the next spec ran")
			}
			for _, w := range want {
				if !strings.Contains(out, w) {
					t.Errorf("no %q in the output", w)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

func TestDataRaceFailsOnlyItsOwnSpec(t *testing.T) {
	if !raceBuild() {
		t.Log("nothing to see without -race")
		return
	}
	out, err := runScenario(t, "race")
	for _, want := range []string{failed, "1 Passed", "the race detector reported a data race in this spec", "the next spec ran"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the output", want)
		}
	}
	if err == nil {
		t.Error("the process succeeded")
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestRepetitionReportsItsFailures(t *testing.T) {
	out, err := runScenario(t, "second time", "-test.count=2")
	for _, want := range []string{"2 Passed", failed, "repetition of the suite: exit status 1", markedLine(t, "second time")} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the output", want)
		}
	}
	if err == nil {
		t.Error("the process succeeded")
	}
	if t.Failed() {
		t.Log(out)
	}
}

func runScenario(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args = append(args, "-test.run=^TestSpecs$", "-test.timeout=1m", "-ginkgo.no-color", "-ginkgo.seed=1")
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), scenarioVariable+"="+name)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// markedLine returns "scenarios_test.go:N" for the line marked with the name of
// a scenario, "" if there is none.
func markedLine(t *testing.T, name string) string {
	t.Helper()
	source, err := os.ReadFile("scenarios_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(source), "\n") {
		if strings.HasSuffix(line, "// mark:"+name) {
			return fmt.Sprintf("%s:%d", "scenarios_test.go", i+1)
		}
	}
	return ""
}

func raceBuild() bool {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}
