package differential

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientfeatures "k8s.io/client-go/features"
)

func TestEveryDifferenceIsNamedByAScript(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, path := range paths {
		s, err := readScript(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range s.differs {
			named[name] = true
		}
	}
	for _, d := range differences {
		if !named[d.name] {
			t.Errorf("no script shows %q: %s", d.name, d.subject)
		}
	}
}

func TestClientGoRunsWithItsDefaultFeatures(t *testing.T) {
	for feature, want := range map[clientfeatures.Feature]bool{
		clientfeatures.WatchListClient: true, clientfeatures.InOrderInformers: true, clientfeatures.AtomicFIFO: true,
	} {
		if got := clientfeatures.FeatureGates().Enabled(feature); got != want {
			t.Errorf("%s is %v", feature, got)
		}
	}
	for _, setting := range os.Environ() {
		if strings.HasPrefix(setting, "KUBE_FEATURE_") {
			t.Errorf("the environment changes features: %s", setting)
		}
	}
}

func TestAScriptIsASentenceCommandsDifferencesAndATrace(t *testing.T) {
	s, err := parseScript("It holds.\n\nput a # now\n# nothing\nwait 1s\n\ndiffers: resume, backoff\n\nrequests\n    LIST\n")
	if err != nil {
		t.Fatal(err)
	}
	if s.sentence != "It holds." || s.trace != "requests\n    LIST" || !slices.Equal(s.differs, []string{"resume", "backoff"}) {
		t.Errorf("%+v", s)
	}
	if len(s.commands) != 2 || s.commands[1].name != "wait" || s.commands[1].line != 5 {
		t.Errorf("commands %+v", s.commands)
	}
	for name, text := range map[string]string{
		"one part":       "It holds.",
		"no differences": "It holds.\n\nstart\n",
		"no commands":    "It holds.\n\n# nothing\n\ndiffers: nothing\n",
	} {
		if _, err := parseScript(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// texts makes the lines of a handler.
func texts(all ...string) trace {
	var lines []line
	for _, text := range all {
		lines = append(lines, line{text: text, call: &call{}})
	}
	return trace{{name: "handler first", lines: lines}}
}

func TestALineOfOneSideIsAProblemUnlessANamedDifferenceExplainsIt(t *testing.T) {
	update := line{text: "a: update a@1 -> a@1", call: &call{key: "a", op: "update", old: "a@1", new: "a@1"}}
	both, more := texts("a: add a@1"), texts("a: add a@1")
	more[0].lines = append(more[0].lines, update)
	for _, row := range []struct {
		name           string
		theirs, ours   trace
		named          []string
		problems       int
		mentionedFirst string
	}{
		{"the same", both, both, nil, 0, ""},
		{"unexplained", more, both, nil, 1, "quiet-relist could"},
		{"explained", more, both, []string{"quiet-relist"}, 0, ""},
		{"on the wrong side", both, more, []string{"quiet-relist"}, 2, "only ours"},
		{"explained by another", more, both, []string{"resume"}, 2, "quiet-relist could"},
		{"nothing to explain", both, both, []string{"quiet-relist"}, 1, "does not show"},
		{"an unknown difference", both, both, []string{"mood"}, 1, "does not show"},
		{"a section on one side", both, trace{}, nil, 1, "only client-go's"},
	} {
		_, problems := compare(row.theirs, row.ours, row.named)
		if len(problems) != row.problems || row.problems > 0 && !strings.Contains(problems[0], row.mentionedFirst) {
			t.Errorf("%s: %q", row.name, problems)
		}
	}
}

func TestLinesAreAlignedByTheLongestCommonSubsequence(t *testing.T) {
	comparison, _ := compare(texts("1", "2", "3", "5"), texts("1", "3", "4", "5"), nil)
	const want = "handler first\n    1\n  - 2  []\n    3\n  + 4  []\n    5"
	if got := render(comparison); got != want {
		t.Errorf("%s", got)
	}
}

func TestAnAnswerThatNobodyAsksForIsAnError(t *testing.T) {
	s, err := parseScript("It holds.\n\nlist-only\nanswer page 500\nstart\n\ndiffers: nothing\n\n")
	if err != nil {
		t.Fatal(err)
	}
	_, unused := perform(t, s, newUpstream)
	if !slices.Equal(unused, []string{"page 500"}) {
		t.Errorf("unused: %q", unused)
	}
}

func TestAWrongCommandIsAnError(t *testing.T) {
	for _, text := range []string{
		"fly", "put", "put #1", "put a#x", "answer", "answer list", "answer lunch 500", "answer list 999", "answer list xx", "answer watch ends=soon",
		"answer watch error=999", "send", "send LOVE", "send BOOKMARK", "send ERROR", "others many", "restore", "transform", "transform gold", "resync soon",
	} {
		words := strings.Fields(text)
		p := &play{server: newServer(typed{}), settings: settings{kind: typed{}}, make: newUpstream}
		if err := p.do(command{name: words[0], words: words[1:]}); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestAWaitIsWrittenAsTheIntervalThatItIsDrawnFrom(t *testing.T) {
	for text, want := range map[string]string{
		"801ms1us": "0.8-1.6s", "1599ms1us": "0.8-1.6s", "1s": "0.8-1.6s", "1601ms1us": "1.6-3.2s", "59s1us": "25.6-60s", "20s": "20s", "1us": "an odd time",
	} {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := interval(d); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
