package golden

import (
	"fmt"
	"io"
	"strings"
)

// shownDifferences bounds how many differences of one step are shown.
const shownDifferences = 8

// Describe says how a step differs, for people.
func (s StepResult) Describe(scenario string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s#%d %s", scenario, s.Number, s.Title)
	for i, d := range s.Differences {
		if i == shownDifferences {
			fmt.Fprintf(&b, "\n    … and %d more", len(s.Differences)-i)
			break
		}
		fmt.Fprintf(&b, "\n    %s", d)
	}
	return b.String()
}

// tally counts steps of one area.
type tally struct{ scenarios, steps, passed, failed, skipped int }

func (t *tally) add(other tally) {
	t.scenarios += other.scenarios
	t.steps += other.steps
	t.passed += other.passed
	t.failed += other.failed
	t.skipped += other.skipped
}

func (t tally) row(area string) string {
	return fmt.Sprintf("| %-13s | %9d | %5d | %6d | %6d | %7d |\n", area, t.scenarios, t.steps, t.passed, t.failed, t.skipped)
}

func count(result Result) tally {
	t := tally{scenarios: 1, steps: len(result.Scenario.Steps)}
	if result.Skipped != "" {
		t.skipped = t.steps
		return t
	}
	for _, step := range result.Steps {
		if len(step.Differences) == 0 {
			t.passed++
		} else {
			t.failed++
		}
	}
	return t
}

// WriteTable writes how many steps of each area passed, as a Markdown table,
// and which scenarios were skipped and why.
func WriteTable(w io.Writer, results []Result) error {
	areas := map[string]*tally{}
	var all tally
	var skipped strings.Builder
	for _, result := range results {
		t := count(result)
		if areas[result.Scenario.Area] == nil {
			areas[result.Scenario.Area] = &tally{}
		}
		areas[result.Scenario.Area].add(t)
		all.add(t)
		if result.Skipped != "" {
			fmt.Fprintf(&skipped, "skipped: %s: %s\n", result.Scenario.Name, result.Skipped)
		}
	}
	var table strings.Builder
	table.WriteString("| area          | scenarios | steps | passed | failed | skipped |\n")
	table.WriteString("|---------------|----------:|------:|-------:|-------:|--------:|\n")
	for _, area := range sortedKeys(areas) {
		table.WriteString(areas[area].row(area))
	}
	table.WriteString(all.row("all"))
	_, err := io.WriteString(w, table.String()+skipped.String())
	return err
}
