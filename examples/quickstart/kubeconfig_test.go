package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/listwatch/listwatch/fakeserver"
)

// kubeconfigFor is a file with the contexts "here", which leads to url, and
// "bare", which leads nowhere.
func kubeconfigFor(t *testing.T, url, current string) string {
	t.Helper()
	return write(t, "config", fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: %q
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {}}]
contexts:
- {name: here, context: {cluster: c, user: u}}
- {name: bare, context: {cluster: none, user: u}}
`, current, url))
}

func TestABadKubeconfigGivesOneError(t *testing.T) {
	const refusing = "http://127.0.0.1:1" // a port that is not given out to listeners that take any
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"a missing file": {
			[]string{filepath.Join(t.TempDir(), "none")}, []string{"none: no such file; check the path"},
		},
		"an unknown context": {
			[]string{kubeconfigFor(t, refusing, "here"), "-context", "prod"},
			[]string{`config: there is no context "prod"; choose one with -context (it has bare, here)`},
		},
		"an unknown current context": {
			[]string{kubeconfigFor(t, refusing, "gone")}, []string{`there is no context "gone"`},
		},
		"no current context": {
			[]string{kubeconfigFor(t, refusing, "")}, []string{"it has no current context; choose one with -context (it has bare, here)"},
		},
		"a context without a cluster": {
			[]string{kubeconfigFor(t, refusing, "bare")}, []string{`context "bare": `},
		},
		"a refused connection": {
			[]string{kubeconfigFor(t, refusing, "here")},
			[]string{"cannot reach the cluster at " + refusing, "connection refused; check that it runs"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			runWith(t, append([]string{"-kubeconfig"}, test.args...)...).wantFailure(t, 1, test.want...)
		})
	}
}

func TestAFileThatIsNoKubeconfigIsToldWithoutTypesOfGo(t *testing.T) {
	for name, test := range map[string]struct {
		path string
		want []string
	}{
		"not YAML": {
			write(t, "config", "{{{"), []string{"config: it is no kubeconfig, nor any YAML: line 1: did not find", "; a kubeconfig has"},
		},
		"a text": {
			write(t, "text.yaml", "just a sentence\n"), []string{"text.yaml: it is no kubeconfig; a kubeconfig has clusters, users and contexts"},
		},
		"a list": {
			write(t, "config", "- a\n"), []string{"config: it is no kubeconfig; "},
		},
		"clusters that are a text": {
			write(t, "config", "apiVersion: v1\nkind: Config\nclusters: a\n"), []string{"config: it is no kubeconfig: clusters may not be a string; "},
		},
		"a manifest": {
			write(t, "config", goodConfigMap), []string{"config: it is no kubeconfig, but another object of Kubernetes; "},
		},
		"another mapping": {
			write(t, "config", "a: b\n"), []string{"config: it has no contexts; check that it is a kubeconfig"},
		},
		"a folder": {
			t.TempDir(), []string{": cannot read it: is a directory"},
		},
		"an empty kubeconfig": {
			write(t, "config", ""), []string{"it has no contexts; check that it is a kubeconfig"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := runWith(t, "-kubeconfig", test.path)
			r.wantFailure(t, 1, test.want...)
			if strings.Contains(r.stderr, "struct") || strings.Contains(r.stderr, "Go value") || strings.Contains(r.stderr, ".go:") {
				t.Errorf("a type of Go in it: %s", r.stderr)
			}
		})
	}
}

func TestAServerThatAnswersSomethingElseIsNotCalledUnreachable(t *testing.T) {
	const refusal = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"%s","reason":"%s","code":%d}`
	for name, test := range map[string]struct {
		status          int
		mediaType, body string
		want            string
	}{
		"a refusal": {
			401, "application/json", fmt.Sprintf(refusal, "Unauthorized", "Unauthorized", 401),
			" refuses the user: HTTP 401 Unauthorized with application/json: Unauthorized; check the user of the context in ",
		},
		"a refusal by a proxy": {
			401, "text/html; charset=utf-8", "<html>\nlog in</html>", " refuses the user: HTTP 401 Unauthorized with text/html: ",
		},
		"no permission": {
			403, "application/json", fmt.Sprintf(refusal, "version is forbidden", "Forbidden", 403),
			" refuses the user: HTTP 403 Forbidden with application/json: version is forbidden; ",
		},
		"a page": {
			200, "text/html", "<html>\nwelcome</html>", " answers HTTP 200 OK with text/html, which is no answer of a Kubernetes API server; check that ",
		},
		"a page about a fault": {
			502, "text/html", "<html>\nno backend</html>", " answers HTTP 502 Bad Gateway with text/html, which is no answer of a Kubernetes API server; check that ",
		},
		"a text": {
			400, "text/plain", "Client sent an HTTP request\nto an HTTPS server.", " answers HTTP 400 Bad Request with text/plain: ",
		},
		"another JSON": {
			200, "application/json", `{"version": 7}`, " answers HTTP 200 OK with application/json, which is no answer of a Kubernetes API server; check that ",
		},
		"nothing": {
			200, "application/json", "", " answers HTTP 200 OK with application/json, which is no answer of a Kubernetes API server; ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.mediaType)
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}))
			t.Cleanup(server.Close)
			r := runWith(t, "-kubeconfig", kubeconfigFor(t, server.URL, "here"))
			r.wantFailure(t, 1, "at "+server.URL+test.want)
			if strings.Contains(r.stderr, "cannot reach") || strings.Contains(r.stderr, "<html>") || strings.Contains(r.stderr, "invalid character") {
				t.Errorf("got %s", r.stderr)
			}
		})
	}
}

// cluster starts a server that the program takes for a real cluster.
func cluster(t *testing.T) (*fakeserver.Server, string) {
	t.Helper()
	server, err := fakeserver.New(fakeserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	url, err := server.Listen(context.WithoutCancel(t.Context()), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return server, url
}

func TestARealClusterIsWatchedAndNotWrittenTo(t *testing.T) {
	server, url := cluster(t)
	client := dynamic.NewForConfigOrDie(server.Config()).Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	version := func() string {
		list, err := client.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return list.GetResourceVersion()
	}
	before := version()
	path := kubeconfigFor(t, url, "here")
	manifests := write(t, "a.yaml", goodConfigMap+"---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
	r := runWith(t, "-kubeconfig", path)
	r.wantInStep(t, len(commonKinds))
	if !strings.Contains(r.stdout, "no manifests are given: 14 common kinds are watched;") || strings.Contains(r.stdout, "checking the manifests") {
		t.Errorf("the output is\n%s", r.stdout)
	}
	r = runWith(t, "-kubeconfig", path, "-context", "here", "-f", manifests)
	r.wantInStep(t, 2)
	if !strings.Contains(r.stdout, "nothing is written there") || !strings.Contains(r.stdout, "checking the manifests in 1 file\n") || strings.Contains(r.stdout, "loaded") {
		t.Errorf("the output is\n%s", r.stdout)
	}
	if after := version(); after != before {
		t.Errorf("something was written: resourceVersion %s became %s", before, after)
	}
}
