package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ran is what a run of the program left.
type ran struct {
	status         int
	stdout, stderr string
}

func runWith(t *testing.T, args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), args, &stdout, &stderr)
	return ran{status, stdout.String(), stderr.String()}
}

// wantFailure requires the exit status and one line of error with all parts.
func (r ran) wantFailure(t *testing.T, status int, parts ...string) {
	t.Helper()
	if r.status != status {
		t.Errorf("exit status %d, want %d", r.status, status)
	}
	if !strings.HasPrefix(r.stderr, "quickstart: ") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("not one line of error: %q", r.stderr)
	}
	for _, part := range parts {
		if !strings.Contains(r.stderr, part) {
			t.Errorf("got  %swant …%s…", r.stderr, part)
		}
	}
}

var proof = regexp.MustCompile(`(?m)^in step with the server at resourceVersion (\d+): (\d+) objects? of (\d+) kinds?$`)

// wantInStep requires that the run ends with the proof, of so many kinds.
func (r ran) wantInStep(t *testing.T, kinds int) {
	t.Helper()
	if r.status != 0 || r.stderr != "" {
		t.Errorf("exit status %d, stderr %q", r.status, r.stderr)
	}
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	found := proof.FindStringSubmatch(lines[len(lines)-1])
	if found == nil || kinds > 0 && found[3] != fmt.Sprint(kinds) {
		t.Fatalf("the output ends with %q, want the proof for %d kinds", lines[len(lines)-1], kinds)
	}
}

// write puts content into a new file.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheRunWithItsOwnManifestsEndsInStepAfterEveryAct(t *testing.T) {
	r := runWith(t)
	r.wantInStep(t, 25)
	for _, part := range []string{
		"checking the manifests in 8 files, built in\n",
		"loading 60 objects",
		"loaded 60/60",
		"synced 25/25",
		"act 1: everything is connected",
		"+ Deployment teashop/catalog-copy  is new",
		"~ Deployment teashop/catalog  spec.replicas 2 → 3",
		"- Deployment teashop/catalog-copy  is gone  (rv ",
		"act 2: all watch connections (25) are cut",
		"act 3: all watch connections (25) are cut again",
		"- Deployment teashop/catalog-copy  is gone, found by relisting",
		"every informer (25) got 410 Expired and relisted once",
		"act 4",
	} {
		if !strings.Contains(r.stdout, part) {
			t.Errorf("the output lacks %q", part)
		}
	}
	if strings.Contains(r.stdout, "only-for-this-example") {
		t.Error("the output shows a secret")
	}
	if t.Failed() {
		t.Log(r.stdout)
	}
}

func TestSmallSetsOfManifestsEndInStepToo(t *testing.T) {
	for name, test := range map[string]struct {
		manifests string
		kinds     int
	}{
		"one object":           {"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", 1},
		"only a namespace":     {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", 1},
		"an immutable object":  {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: true\ndata: {a: b}\n", 1},
		"the copy's name too":  {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-copy}\n", 1},
		"two versions of kind": {"apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 2, scaleTargetRef: {kind: Deployment, name: a}}\n---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: b}\nspec: {maxReplicas: 2, scaleTargetRef: {kind: Deployment, name: a}}\n", 1},
		"with a finalizer":     {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, finalizers: [example.com/hold]}\nspec: {containers: [{name: a, image: a}]}\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			runWith(t, "-f", write(t, "a.yaml", test.manifests)).wantInStep(t, test.kinds)
		})
	}
}

const goodConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: good\n"

func TestEachBadManifestStopsTheRunBeforeAnythingIsLoaded(t *testing.T) {
	empty := t.TempDir()
	loop := filepath.Join(t.TempDir(), "loop.yaml")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		path string
		want []string
	}{
		"not YAML": {
			write(t, "bad.yaml", goodConfigMap+"---\n{not: [yaml\n"), []string{"bad.yaml, document 2, line 6: not valid: this is no YAML"},
		},
		"an unknown kind": {
			write(t, "bad.yaml", goodConfigMap+"---\napiVersion: v1\nkind: ConfigMop\nmetadata: {name: a}\n"),
			[]string{"bad.yaml, document 2, line 7: unknown kind: the server has no ConfigMop in v1; write apiVersion: v1, kind: ConfigMap"},
		},
		"no name": {
			write(t, "bad.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {}\n"), []string{"bad.yaml, document 1, line 3: missing field: metadata.name"},
		},
		"no kind": {
			write(t, "bad.yaml", "apiVersion: v1\nmetadata: {}\n"), []string{"bad.yaml, document 1, line 1: missing field: kind"},
		},
		"no apiVersion": {
			write(t, "bad.yaml", "kind: Pod\n"), []string{"bad.yaml, document 1, line 1: missing field: apiVersion"},
		},
		"a wrong field type": {
			write(t, "bad.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: \"three\"\n"),
			[]string{`bad.yaml, document 1, line 5: wrong type: Deployment field spec.replicas is the text "three"`},
		},
		"an unknown field": {
			write(t, "bad.yaml", goodConfigMap+"datas: {}\n"), []string{"bad.yaml, document 1, line 5: unknown field: ConfigMap field datas"},
		},
		"a duplicate": {
			write(t, "bad.yaml", goodConfigMap+"---\n"+goodConfigMap),
			[]string{"bad.yaml, document 2, line 6: duplicate object: ConfigMap default/good is already defined in", "document 1, line 1"},
		},
		"an empty file":            {write(t, "bad.yaml", ""), []string{"bad.yaml: nothing in it"}},
		"an empty folder":          {empty, []string{empty + ": nothing in it: the folder holds no"}},
		"a file that is no file":   {loop, []string{"loop.yaml: cannot read it: too many levels of symbolic links"}},
		"a file that is not there": {filepath.Join(empty, "none"), []string{"none: no such file or folder"}},
	} {
		t.Run(name, func(t *testing.T) {
			good := write(t, "good.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: good}\n")
			r := runWith(t, "-f", good, "-f", test.path)
			r.wantFailure(t, 1, test.want...)
			if strings.Contains(r.stdout, "load") {
				t.Errorf("something was loaded:\n%s", r.stdout)
			}
		})
	}
}

func TestAnObjectThatTheServerRefusesIsNamedWithTheFateOfTheOthers(t *testing.T) {
	object := func(name string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
	}
	for name, test := range map[string]struct{ before, after, want string }{
		"alone":  {"", "", "; it is the only object, so nothing was created\n"},
		"first":  {"", object("a") + object("b"), "; nothing was created before it; 2 objects were to come after it and not tried\n"},
		"middle": {object("a"), object("b"), "; 1 object was created before it, the last one ConfigMap default/a; 1 object was to come after it and not tried\n"},
		"last":   {object("a") + object("b"), "", "; 2 objects were created before it, the last one ConfigMap default/b; it was the last one\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := runWith(t, "-f", write(t, "a.yaml", test.before+object("Upper_Case")+test.after))
			r.wantFailure(t, 1, "a.yaml, document ", ": the server refuses ConfigMap default/Upper_Case: ", test.want)
		})
	}
}

func TestWrongUsageIsToldWithStatusTwo(t *testing.T) {
	for _, test := range []struct {
		want string
		args []string
	}{
		{"flag provided but not defined: -wach", []string{"-wach"}},
		{`unexpected argument "manifests/"`, []string{"manifests/"}},
		{"the path is empty", []string{"-f", ""}},
		{"-kubeconfig is empty; give the path", []string{"-kubeconfig", ""}},
		{"-kubeconfig is empty", []string{"-f", "a.yaml", "-kubeconfig=", "-context", "a"}},
		{"-context is empty; give the name", []string{"-kubeconfig", "config", "-context", ""}},
		{"-context needs -kubeconfig", []string{"-context", "a"}},
		{"-context needs -kubeconfig", []string{"-context", ""}},
	} {
		r := runWith(t, test.args...)
		r.wantFailure(t, 2, test.want, "quickstart -h tells the usage")
		if r.stdout != "" {
			t.Errorf("%q: something was done: %s", test.args, r.stdout)
		}
	}
}

func TestHelpShowsExamples(t *testing.T) {
	r := runWith(t, "-h")
	if r.status != 0 || r.stderr != "" || !strings.Contains(r.stdout, "go run ./examples/quickstart -f my-app/deploy/") {
		t.Errorf("status %d, stderr %q, stdout:\n%s", r.status, r.stderr, r.stdout)
	}
}

func TestAnInterruptEndsTheRunWithOneLine(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var stdout, stderr bytes.Buffer
	status := run(ctx, nil, &stdout, &stderr)
	ran{status, stdout.String(), stderr.String()}.wantFailure(t, 1, "quickstart: interrupted")
}
