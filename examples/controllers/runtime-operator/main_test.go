package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/listwatch/listwatch/internal/bubble"
)

// asProgram is set in the environment of this test's binary to have it be the program.
const asProgram = "TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	// The second handler sleeps if the last error, in another bubble, was a moment ago.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	bubble.VerifyTestMain(m)
}

func TestOperator(t *testing.T) { bubble.RunSpecs(t, "runtime-operator") }

// program is the program as a process of its own: it sets loggers and takes signals
// for the whole of it.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), binary, args...)
	command.Env = append(os.Environ(), asProgram+"=1")
	return command
}

// get reads a page of a program that runs.
func get(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s answered %s, %v", url, response.Status, err)
	}
	return string(body)
}

func TestTheProgramShowsWhatItDoesAndEndsWithAnInterrupt(t *testing.T) {
	for _, informers := range []string{listwatch, clientGo} {
		t.Run(informers, func(t *testing.T) {
			command := program(t, "-informers", informers, "-leader-elect")
			stderr, err := command.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stderr)
			until := func(word string) string {
				for lines.Scan() {
					if strings.Contains(lines.Text(), word) {
						return lines.Text()
					}
				}
				t.Fatalf("it ended before it said %q", word)
				return ""
			}
			urls := regexp.MustCompile(`http://\S+`).FindAllString(until("msg=starting"), 2)
			until("3 of 3 ConfigMaps are as they should be")

			metrics := get(t, urls[0])
			if !strings.Contains(metrics, `controller_runtime_reconcile_total{controller="configset",result="success"}`) {
				t.Error("/metrics has nothing of the manager")
			}
			page := get(t, strings.TrimSuffix(urls[0], "/metrics")+"/informers?key=default/demo")
			ours := informers == listwatch
			if got := strings.Contains(metrics, `informer_store_resource_version{`); got != ours {
				t.Errorf("/metrics has our informers: %v, want %v", got, ours)
			}
			if got := strings.Contains(page, `"cached"`); got != ours {
				t.Errorf("/informers explains the ConfigSet: %v, want %v", got, ours)
			}
			if ready := get(t, urls[1]); ready != "ok" {
				t.Errorf("/readyz says %q", ready)
			}

			if err := command.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			until("msg=stopped")
			if err := command.Wait(); err != nil {
				t.Errorf("after an interrupt: %v", err)
			}
		})
	}
}

// nobody is a kubeconfig of a server that is down.
func nobody(t *testing.T) (path string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["down"] = &clientcmdapi.Cluster{Server: "http://" + listener.Addr().String()}
	config.Contexts["down"] = &clientcmdapi.Context{Cluster: "down"}
	config.CurrentContext = "down"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatCannotWorkIsOneClearErrorAndAnExitStatus(t *testing.T) {
	for _, test := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"help", []string{"-h"}, 0, "whose informers the manager is given"},
		{"informers of nobody", []string{"-informers", "mine"}, 2, `-informers is listwatch or client-go, not "mine"`},
		{"an argument", []string{"now"}, 2, `unexpected argument "now"`},
		{"no port", []string{"-probes", "localhost"}, 1, "missing port"},
		{"no definition", []string{"-install-crd=false"}, 1, `no matches for kind \"ConfigSet\"`},
		{"no kubeconfig", []string{"-kubeconfig", "main.go/x"}, 1, "read -kubeconfig"},
		{"no server", []string{"-kubeconfig", nobody(t)}, 1, "connection refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			command := program(t, test.args...)
			said, err := command.CombinedOutput()
			if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
				t.Fatal(err)
			}
			if status := command.ProcessState.ExitCode(); status != test.status {
				t.Errorf("exit status %d, want %d", status, test.status)
			}
			if !strings.Contains(string(said), test.says) {
				t.Errorf("it says %q, and not %q", said, test.says)
			}
		})
	}
}
