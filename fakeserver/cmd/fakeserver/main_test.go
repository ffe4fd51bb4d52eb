package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/tools/clientcmd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFirstLineSaysWhereItServesAndAnInterruptStopsIt(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	output, stdout := io.Pipe()
	exit := make(chan int)
	go func() {
		var stderr bytes.Buffer
		exit <- run(ctx, []string{"-kubeconfig", kubeconfig, "-steer"}, stdout, &stderr)
		stdout.Close()
	}()
	lines := bufio.NewReader(output)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, found := strings.CutPrefix(strings.TrimSpace(first), "serving on ")
	if !found || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("first line is %q", first)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil || config.Host != url {
		t.Errorf("kubeconfig says %v, %v; want %s", config, err, url)
	}
	response, err := http.Post(url+"/-/compact", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("steering answered %s", response.Status)
	}
	http.DefaultClient.CloseIdleConnections()
	go io.Copy(io.Discard, lines)
	interrupt()
	if status := <-exit; status != 0 {
		t.Errorf("exit status %d after an interrupt", status)
	}
}

func TestWhatCannotWorkIsOneClearErrorAndAnExitStatus(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, test := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"a port in use", []string{"-listen", busy.Addr().String()}, 1, "the port is in use"},
		{"an address without a port", []string{"-listen", "localhost"}, 1, "is not host:port"},
		{"a kubeconfig in no folder", []string{"-kubeconfig", filepath.Join("main.go", "x")}, 1, "kubeconfig"},
		{"an unknown flag", []string{"-port", "1"}, 2, "flag provided but not defined: -port"},
		{"an argument", []string{"now"}, 2, `unexpected argument "now"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // were it to start by mistake, it would stop at once
			var stdout, stderr bytes.Buffer
			if status := run(ctx, test.args, &stdout, &stderr); status != test.status {
				t.Errorf("exit status %d, want %d", status, test.status)
			}
			if !strings.Contains(stderr.String(), test.says) {
				t.Errorf("stderr is %q, want it to say %q", stderr.String(), test.says)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout is %q", stdout.String())
			}
		})
	}
}
