package golden

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// twoSteps is a result of scenario "s" whose second step failed.
func twoSteps() Result {
	return Result{Scenario: &Scenario{Name: "s", Area: "a", Steps: make([]Step, 2)}, Steps: []StepResult{
		{Number: 1, Title: "GET /a"},
		{Number: 2, Title: "GET /b", Differences: []Difference{{Path: "status", Text: "want 200,\n got 404"}}},
	}}
}

func TestTheListHoldsExactlyTheFailures(t *testing.T) {
	for _, test := range []struct {
		name, list    string
		failed, fixed string
	}{
		{"listed", "s#2 known\nother#1 x\n", "", ""},
		{"new failure", "", "s#2", ""},
		{"fixed", "s#1 known\ns#2 known", "", "s#1"},
		{"step that is not there", "s#2 known\ns#3 known", "", "s#3"},
	} {
		known, err := ReadKnown(strings.NewReader(test.list))
		if err != nil {
			t.Fatal(err)
		}
		var failed, fixed []string
		steps, ids := known.Judge(twoSteps())
		for _, step := range steps {
			failed = append(failed, StepID{"s", step.Number}.String())
		}
		for _, id := range ids {
			fixed = append(fixed, id.String())
		}
		if strings.Join(failed, " ") != test.failed || strings.Join(fixed, " ") != test.fixed {
			t.Errorf("%s: got failed %v and fixed %v, want %q and %q", test.name, failed, fixed, test.failed, test.fixed)
		}
	}
}

func TestAnUpdateKeepsReasons(t *testing.T) {
	known := Known{{"s", 1}: "was broken", {"s", 2}: "mine", {"other", 7}: "stays"}
	known.Update(twoSteps())
	if diff := cmp.Diff(Known{{"s", 2}: "mine", {"other", 7}: "stays"}, known); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	fresh := Known{}
	fresh.Update(twoSteps())
	var list strings.Builder
	if err := fresh.Write(&list); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(list.String(), "\ns#2 status: want 200, got 404\n") {
		t.Errorf("got the list\n%s", list.String())
	}
	again, err := ReadKnown(strings.NewReader(list.String()))
	if diff := cmp.Diff(fresh, again); err != nil || diff != "" {
		t.Errorf("read again: %v\n%s", err, diff)
	}
}

func TestASkippedScenarioIsNotJudgedButCounted(t *testing.T) {
	skipped := Result{Scenario: &Scenario{Name: "c", Area: "a", Steps: make([]Step, 3)}, Skipped: "requires compact"}
	known := Known{{"c", 1}: "known"}
	known.Update(skipped)
	if failed, fixed := known.Judge(skipped); len(failed)+len(fixed) > 0 || len(known) != 1 {
		t.Errorf("got %v, %v, %v", failed, fixed, known)
	}
	var table strings.Builder
	if err := WriteTable(&table, []Result{skipped, twoSteps()}); err != nil {
		t.Fatal(err)
	}
	const want = `| area          | scenarios | steps | passed | failed | skipped |
|---------------|----------:|------:|-------:|-------:|--------:|
| a             |         2 |     5 |      1 |      1 |       3 |
| all           |         2 |     5 |      1 |      1 |       3 |
skipped: c: requires compact
`
	if diff := cmp.Diff(want, table.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBrokenListsAreErrors(t *testing.T) {
	for _, list := range []string{"s reason", "s#x reason", "s#1", "s#1 a\ns#1 b"} {
		if _, err := ReadKnown(strings.NewReader(list)); !errors.Is(err, ErrScenario) {
			t.Errorf("%q: want ErrScenario, got %v", list, err)
		}
	}
}

func TestBrokenScenariosAreErrors(t *testing.T) {
	for name, text := range map[string]string{
		"no name":                    `{"area":"a"}`,
		"unknown field":              `{"name":"n","area":"a","stepz":[]}`,
		"unknown field of a step":    `{"name":"n","area":"a","steps":[{"waitMs":1,"what":1}]}`,
		"step without kind":          `{"name":"n","area":"a","steps":[{}]}`,
		"step of two kinds":          `{"name":"n","area":"a","steps":[{"waitMs":1,"compact":true}]}`,
		"collect without stream":     `{"name":"n","area":"a","steps":[{"collect":"w"}]}`,
		"unknown bookmarks":          `{"name":"n","area":"a","steps":[{"method":"GET","path":"/","stream":{"bookmarks":"x"}}]}`,
		"broken path of a rule":      `{"name":"n","area":"a","ignore":[{"path":"a["}]}`,
		"broken path of a capture":   `{"name":"n","area":"a","steps":[{"method":"GET","path":"/","capture":{"a":"a["}}]}`,
		"broken expression of mask":  `{"name":"n","area":"a","steps":[{"method":"GET","path":"/","mask":[{"path":"","regex":"("}]}]}`,
		"no JSON":                    `{`,
		"broken path of an assert":   `{"name":"n","area":"a","steps":[{"method":"GET","path":"/","assert":[{"path":"a["}]}]}`,
		"broken path of until's end": `{"name":"n","area":"a","steps":[{"method":"GET","path":"/","until":{"path":"a["}}]}`,
	} {
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrScenario) {
			t.Errorf("%s: want ErrScenario, got %v", name, err)
		}
	}
}
