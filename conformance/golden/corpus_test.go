package golden

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The recordings themselves are the largest table there is: an answer made of
// each expectation must pass, and no longer after any change to it.

func loadCorpus(t *testing.T) []*Scenario {
	t.Helper()
	scenarios, err := Load(os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	if len(scenarios) != 99 {
		t.Fatalf("there are %d scenarios, recorded were 99", len(scenarios))
	}
	return scenarios
}

// recordings returns the expectation of each step, ready to compare.
func recordings(t *testing.T, s *Scenario) []answer {
	t.Helper()
	var answers []answer
	for i := range s.Steps {
		if s.Steps[i].Expect == nil {
			answers = append(answers, answer{})
			continue
		}
		a, err := s.Steps[i].Expect.recorded(newAdapter(s, &s.Steps[i], false))
		if err != nil {
			t.Fatalf("%s#%d: %v", s.Name, i+1, err)
		}
		answers = append(answers, a)
	}
	return answers
}

// judge compares all steps of a scenario as Run does.
func judge(want, got []answer) []*comparison {
	var comparisons []*comparison
	for i := range want {
		c := compare(want[i], got[i])
		comparisons = append(comparisons, &c)
	}
	resolve(comparisons)
	return comparisons
}

func TestRulesLeaveRecordingsAsTheyAre(t *testing.T) {
	for _, s := range loadCorpus(t) {
		for i, step := range s.Steps {
			if step.Expect == nil || len(step.Expect.Body) == 0 {
				continue
			}
			body, err := decode(step.Expect.Body)
			if err != nil {
				t.Fatal(err)
			}
			adapted := newAdapter(s, &s.Steps[i], false).adapt(clone(body))
			if diff := cmp.Diff(body, adapted); diff != "" {
				t.Errorf("%s#%d: the rules were applied before recording, but change it:\n%s", s.Name, i+1, diff)
			}
		}
	}
}

func TestRecordedAnswersPass(t *testing.T) {
	for _, s := range loadCorpus(t) {
		want := recordings(t, s)
		for i, c := range judge(want, concreteAll(want)) {
			for _, d := range c.differences {
				t.Errorf("%s#%d: %s", s.Name, i+1, d)
			}
		}
	}
}

func TestAnyChangeOfARecordedAnswerIsFound(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	changes := 0
	for _, s := range loadCorpus(t) {
		want := recordings(t, s)
		got := concreteAll(want)
		right := judge(want, got)
		for i := range want {
			got := concreteAll(want[i : i+1])[0]
			places := leaves(&got, want[i])
			if len(places) == 0 {
				continue
			}
			change := places[random.IntN(len(places))]
			change.make()
			changes++
			changed := compare(want[i], got)
			resolve(slices.Concat(copies(right[:i]), []*comparison{&changed}, copies(right[i+1:])))
			if len(changed.differences) == 0 {
				t.Errorf("%s#%d: nobody noticed: %s", s.Name, i+1, change.what)
			}
		}
	}
	if changes < 1000 {
		t.Errorf("only %d changes were tried", changes)
	}
}

// copies are comparisons that can be resolved again.
func copies(all []*comparison) []*comparison {
	var copied []*comparison
	for _, c := range all {
		again := *c
		copied = append(copied, &again)
	}
	return copied
}

// concreteAll gives every symbol a value.
func concreteAll(answers []answer) []answer {
	made := make([]answer, len(answers))
	for i, a := range answers {
		made[i] = a
		made[i].headers = map[string]string{}
		for name, value := range a.headers {
			made[i].headers[name] = value
		}
		made[i].body = concrete(clone(a.body), "")
		made[i].events = nil
		for _, event := range a.events {
			made[i].events = append(made[i].events, concrete(clone(event), ""))
		}
	}
	return made
}

func concrete(value any, listRV string) any {
	switch value := value.(type) {
	case string:
		return symbol.ReplaceAllStringFunc(value, func(s string) string { return valueOf(s, listRV) })
	case []any:
		for i := range value {
			value[i] = concrete(value[i], listRV)
		}
	case map[string]any:
		if metadata, ok := value["metadata"].(map[string]any); ok {
			if rv, ok := metadata["resourceVersion"].(string); ok {
				listRV = concrete(rv, "").(string)
			}
		}
		for key := range value {
			value[key] = concrete(value[key], listRV)
		}
	}
	return value
}

func valueOf(s, listRV string) string {
	parts := symbol.FindStringSubmatch(s)
	var n int
	fmt.Sscan(parts[2], &n)
	switch {
	case parts[1] == "uid":
		return fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
	case parts[1] == "rand":
		return fmt.Sprintf("abc%02d", n)
	case parts[3] == "+":
		return fmt.Sprint(10*(n+1) + 3)
	case parts[1] == "rv":
		return fmt.Sprint(10 * (n + 1))
	case parts[4] == "same":
		return listRV
	}
	return map[string]string{"<rv:any>": "7", "<time>": "2020-01-02T03:04:05Z", "<microtime>": "2020-01-02T03:04:05.000006Z", "<age>": "2m3s"}[s]
}

// planted is one change that could be made to an answer.
type planted struct {
	what string
	make func()
}

// leaves lists the changes of an answer that have to be noticed.
func leaves(got *answer, want answer) []planted {
	var found []planted
	if want.status != 0 {
		found = append(found, planted{"status", func() { got.status++ }})
	}
	for _, name := range comparedHeaders {
		found = append(found, planted{"header " + name, func() { got.headers[name] += "x" }})
	}
	if want.hasBody {
		found = append(found, leavesOf("body", want.body, got.body, func(v any) { got.body = v })...)
		found = append(found, planted{"no body", func() { got.body, got.hasBody = nil, false }})
	}
	if want.end != "" {
		found = append(found, planted{"end", func() { got.end += "x" }},
			planted{"surplus event", func() { got.events = append(got.events, map[string]any{}) }})
	}
	for i, event := range want.events {
		found = append(found, leavesOf(fmt.Sprintf("events[%d]", i), event, got.events[i], func(v any) { got.events[i] = v })...)
	}
	return found
}

func leavesOf(where string, want, got any, set func(any)) []planted {
	var found []planted
	switch got := got.(type) {
	case map[string]any:
		found = append(found, planted{where + ": surplus key", func() { got["surplus"] = nil }})
		for key := range got {
			child := want.(map[string]any)[key]
			found = append(found, planted{where + ": no " + key, func() { delete(got, key) }})
			found = append(found, leavesOf(where+"."+key, child, got[key], func(v any) { got[key] = v })...)
		}
	case []any:
		found = append(found, planted{where + ": surplus element", func() { set(append(got, "surplus")) }})
		for i := range got {
			found = append(found, leavesOf(fmt.Sprintf("%s[%d]", where, i), want.([]any)[i], got[i], func(v any) { got[i] = v })...)
		}
	case string:
		if want != anything {
			found = append(found, planted{where + ": another string", func() { set(got + "x") }}, planted{where + ": null", func() { set(nil) }})
		}
	case json.Number:
		written := got.String() + ".0"
		if strings.Contains(got.String(), ".") {
			written = got.String() + "0"
		}
		found = append(found, planted{where + ": number written differently", func() { set(json.Number(written)) }})
	case bool:
		found = append(found, planted{where + ": not", func() { set(!got) }})
	default:
		found = append(found, planted{where + ": 0", func() { set(json.Number("0")) }})
	}
	return found
}
