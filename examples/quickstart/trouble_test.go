package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/reflector"
)

// weakNetwork refuses connections while it is down.
type weakNetwork struct {
	down atomic.Bool
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (n *weakNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
	if n.down.Load() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 6443}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return n.next.RoundTrip(request)
}

// watchThrough runs keepWatching, as over a real cluster, while happens does.
// It returns what was printed. Call it in a bubble.
func watchThrough(t *testing.T, happens func(*weakNetwork, *fakeserver.Server)) string {
	t.Helper()
	server, err := fakeserver.New(fakeserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	ctx, interrupt := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
	defer interrupt()
	network := &weakNetwork{}
	config := server.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { network.next = next; return network })
	site, _, err := newSite(ctx, config, new(hearing))
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	out := newPrinter(&output)
	real := settings{kubeconfig: "config", every: 5 * time.Second}
	mappings, err := watchedKinds(real, site.kinds, nil)
	if err != nil {
		t.Fatal(err)
	}
	informers, err := startFleet(context.WithoutCancel(ctx), site, mappings, out)
	if err != nil {
		t.Fatal(err)
	}
	if err := informers.sync(ctx, out); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- keepWatching(ctx, real, site, informers, out) }()
	happens(network, server)
	interrupt()
	if err := <-ended; err != nil {
		t.Errorf("the interrupt is an error: %v", err)
	}
	informers.stop()
	out.close()
	return output.String()
}

func TestTroubleIsToldWithItsCauseWhenItBeginsWhileItLastsAndWhenItIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		output := watchThrough(t, func(network *weakNetwork, server *fakeserver.Server) {
			time.Sleep(time.Minute)
			network.down.Store(true)
			server.DropWatches()
			time.Sleep(20 * time.Second)
			network.down.Store(false)
			time.Sleep(40 * time.Second) // and no object changes, nor is there a bookmark yet
		})
		const refused = `dial tcp 10\.0\.0\.1:6443: connect: connection refused`
		for _, line := range []string{
			`trouble begins: \d+ informers? in trouble \(.*\): ` + refused,
			`4 objects of 14 kinds, .*; 14 informers in trouble \(Namespace, Node, Pod and 11 more\): ` + refused,
			`trouble is over after [\d.m]+s: every informer follows the server again; it was: 14 informers in trouble \(Namespace, Node, Pod and 11 more\): ` + refused,
		} {
			if !regexp.MustCompile(`(?m)^ +[\d.]+s  ` + line + `$`).MatchString(output) {
				t.Errorf("the output lacks a line %s", line)
			}
		}
		before, rest, _ := strings.Cut(output, "trouble begins")
		_, after, _ := strings.Cut(rest, "trouble is over")
		_, after, _ = strings.Cut(after, "\n")
		if strings.Contains(before+after, "trouble") || !strings.Contains(after, "4 objects of 14 kinds") {
			t.Error("trouble is told of before it begins or after it is over")
		}
		if t.Failed() {
			t.Log(output)
		}
	})
}

func TestTroubleThatLastsIsToldAtTheInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		output := watchThrough(t, func(network *weakNetwork, server *fakeserver.Server) {
			network.down.Store(true)
			server.DropWatches()
			time.Sleep(7 * time.Second)
		})
		_, last, _ := strings.Cut(output, "interrupted; 4 objects of 14 kinds")
		if !strings.Contains(last, "; 14 informers in trouble (Namespace, Node, Pod and 11 more): dial tcp 10.0.0.1:6443: connect: connection refused\n") {
			t.Errorf("the output is\n%s", output)
		}
	})
}

func TestACauseIsShortAndTheSameForEachTry(t *testing.T) {
	address := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port} }
	reset := &net.OpError{Op: "read", Net: "tcp", Source: address(54321), Addr: address(6443), Err: syscall.ECONNRESET}
	for _, test := range []struct {
		status reflector.Status
		want   string
	}{
		{
			reflector.Status{LastVerb: "list", LastError: fmt.Errorf("list: %w", &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api/v1/pods?limit=500", Err: reset})},
			"read tcp 10.0.0.1:6443: connection reset by peer",
		},
		{
			reflector.Status{LastVerb: "watch", LastError: fmt.Errorf("watch: cannot decode: %w", reset)},
			"cannot decode: read tcp 10.0.0.1:6443: connection reset by peer",
		},
		{
			reflector.Status{LastVerb: "list", LastError: errors.New("list: pods is\nforbidden"), HTTPStatus: 403, Reason: metav1.StatusReasonForbidden},
			"HTTP 403 Forbidden: pods is forbidden",
		},
		{reflector.Status{LastVerb: "list", LastError: errors.New(strings.Repeat("ä", 1000))}, strings.Repeat("ä", 159) + "…"},
		{reflector.Status{}, "unknown"},
	} {
		if got := causeOf(test.status); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestTroubleOfSeveralCausesTellsTheMostCommonOne(t *testing.T) {
	for want, told := range map[string]trouble{
		"1 informer in trouble (Pod): refused":                     {1, []string{"Pod"}, "refused"},
		"3 informers in trouble, 2 of them (Pod, Node): refused":   {3, []string{"Pod", "Node"}, "refused"},
		"4 informers in trouble (A, B, C and 1 more): out of time": {4, []string{"A", "B", "C", "D"}, "out of time"},
	} {
		if told.String() != want {
			t.Errorf("got  %v\nwant %s", told, want)
		}
	}
}
