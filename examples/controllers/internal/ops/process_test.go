package ops_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
)

// asProcess has the test binary be a process that waits to be interrupted, and then
// does not end by itself.
const asProcess = "OPS_TEST_INTERRUPTIBLE"

func TestTheFirstSignalEndsTheContextAndTheSecondTheProcess(t *testing.T) {
	if os.Getenv(asProcess) != "" {
		ctx, stop := ops.Interruptible()
		defer stop()
		fmt.Println("running")
		<-ctx.Done()
		fmt.Println("interrupted")
		_, _ = io.Copy(io.Discard, os.Stdin) // stuck, until the test has ended
		return
	}
	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	process.Env = append(os.Environ(), asProcess+"=1")
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for _, want := range []string{"running", "interrupted"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("the process says %q, not %q", lines.Text(), want)
		}
		if err := process.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	var exit *exec.ExitError
	if err := process.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the second signal did not end the process: %v", err)
	}
}

func TestAnInterruptIsNoFailure(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for want, errs := range map[int][]error{
		0: {nil, context.Canceled, fmt.Errorf("wait: %w", context.Canceled)},
		1: {context.DeadlineExceeded, io.EOF},
	} {
		for _, err := range errs {
			if got := ops.Status(log, err); got != want {
				t.Errorf("status %d for %v", got, err)
			}
		}
	}
}

func TestOneLoggerServesTheProgramAndTheLibraries(t *testing.T) {
	var out bytes.Buffer
	ctx, log := ops.Log(t.Context(), &out, ops.Options{LogFormat: "json"})
	log.Info("of the program", "pod", "a/b")
	klog.FromContext(ctx).Info("of a library")
	klog.FromContext(ctx).V(4).Info("of no interest")
	if text := out.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, `"pod":"a/b"`) || !strings.Contains(text, `"msg":"of a library"`) {
		t.Errorf("logged:\n%s", text)
	}
}

func TestTheEndpointIsServedOnLoopbackUntilItIsClosed(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	endpoint, err := ops.Serve(log, ops.Options{Listen: ":0"}, ops.Handler(ops.Diagnostics{Metrics: ops.NewRegistry()}))
	if err != nil {
		t.Fatal(err)
	}
	defer endpoint.Close()
	if !strings.HasPrefix(endpoint.URL, "http://127.0.0.1:") {
		t.Errorf("served at %s", endpoint.URL)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(endpoint.URL + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 200 {
		t.Errorf("status %d", answer.StatusCode)
	}
	endpoint.Close()
	if _, err := client.Get(endpoint.URL + "/healthz"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := ops.Serve(log, ops.Options{Listen: "8080"}, nil); err == nil {
		t.Error("an address without a port was accepted")
	}
}

func TestWithoutAKubeconfigAServerIsStartedInTheProcess(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	cluster, err := ops.Connect(t.Context(), ops.Options{}, log, "example")
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	if !cluster.Embedded || !strings.HasSuffix(cluster.Config.UserAgent, "/example") {
		t.Errorf("embedded %t, user agent %q", cluster.Embedded, cluster.Config.UserAgent)
	}
	if _, err := ops.Connect(t.Context(), ops.Options{Kubeconfig: t.TempDir() + "/none"}, log, "example"); err == nil {
		t.Error("a kubeconfig that does not exist was accepted")
	}
}
