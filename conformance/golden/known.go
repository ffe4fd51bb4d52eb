package golden

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// StepID names a step: the scenario and the step's number, from 1.
type StepID struct {
	Scenario string
	Step     int
}

// String is "scenario#step".
func (id StepID) String() string { return fmt.Sprintf("%s#%d", id.Scenario, id.Step) }

// Known are the steps that are known to fail, each with the reason.
type Known map[StepID]string

// ReadKnown reads lines of the form "scenario#step reason". Lines that start
// with # and empty ones are comments. Errors wrap ErrScenario.
func ReadKnown(r io.Reader) (Known, error) {
	known := Known{}
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, " ")
		scenario, digits, _ := strings.Cut(name, "#")
		step, err := strconv.Atoi(digits)
		id := StepID{scenario, step}
		_, twice := known[id]
		switch reason = strings.TrimSpace(reason); {
		case err != nil || scenario == "":
			return nil, fmt.Errorf("%w: known failures, line %d: %q is not scenario#step", ErrScenario, number, name)
		case reason == "":
			return nil, fmt.Errorf("%w: known failures, line %d: %s has no reason", ErrScenario, number, id)
		case twice:
			return nil, fmt.Errorf("%w: known failures, line %d: %s is there twice", ErrScenario, number, id)
		}
		known[id] = reason
	}
	return known, lines.Err()
}

// Write writes the list, sorted, in the form that ReadKnown reads.
func (k Known) Write(w io.Writer) error {
	ids := make([]StepID, 0, len(k))
	for id := range k {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b StepID) int {
		if c := strings.Compare(a.Scenario, b.Scenario); c != 0 {
			return c
		}
		return a.Step - b.Step
	})
	if _, err := fmt.Fprint(w, "# Steps that are not answered as recorded: scenario#step reason.\n"+
		"# A step that fails and is not here fails the test, and so does one that is here and passes.\n"); err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := fmt.Fprintf(w, "%s %s\n", id, k[id]); err != nil {
			return err
		}
	}
	return nil
}

// Judge compares the failing steps of a result with the list: those that are
// not on it, and those that are but do not fail.
func (k Known) Judge(result Result) (failed []StepResult, fixed []StepID) {
	if result.Skipped != "" {
		return nil, nil
	}
	here := map[int]bool{}
	for _, step := range result.Steps {
		id := StepID{result.Scenario.Name, step.Number}
		_, listed := k[id]
		here[step.Number] = true
		switch {
		case len(step.Differences) > 0 && !listed:
			failed = append(failed, step)
		case len(step.Differences) == 0 && listed:
			fixed = append(fixed, id)
		}
	}
	for id := range k {
		if id.Scenario == result.Scenario.Name && !here[id.Step] {
			fixed = append(fixed, id)
		}
	}
	slices.SortFunc(fixed, func(a, b StepID) int { return a.Step - b.Step })
	return failed, fixed
}

// Update replaces what the list says about the scenario of a result. Reasons
// are kept; a new step gets its first difference for one.
func (k Known) Update(result Result) {
	if result.Skipped != "" {
		return
	}
	reasons := map[int]string{}
	for id, reason := range k {
		if id.Scenario == result.Scenario.Name {
			reasons[id.Step] = reason
			delete(k, id)
		}
	}
	for _, step := range result.Steps {
		if len(step.Differences) == 0 {
			continue
		}
		reason, ok := reasons[step.Number]
		if !ok {
			reason = strings.Join(strings.Fields(step.Differences[0].String()), " ")
		}
		k[StepID{result.Scenario.Name, step.Number}] = reason
	}
}
