package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("The demonstration", func() {
	bubble.It("shows everything within seconds, and goes on", func() {
		r := newRig()
		var said bytes.Buffer
		p := r.run(ops.Options{}, func(s *settings) {
			s.log = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{ReplaceAttr: onlyMessage}))
		})
		stop := r.demonstrate(p.controller)
		time.Sleep(7 * pace)
		stop()
		p.stop()
		shown := strings.Join(demonstrated(said.String()), "\n")
		Expect(shown).To(HavePrefix(strings.Join([]string{
			"creates a ConfigSet of 3", "all 3 ConfigMaps are as they should be",
			"scales it to 5", "all 5 ConfigMaps are as they should be",
			"edits a child by hand", "all 5 ConfigMaps are as they should be",
			"deletes a child by hand", "all 5 ConfigMaps are as they should be",
			"changes the data of all", "all 5 ConfigMaps are as they should be",
			"scales it to 2", "all 2 ConfigMaps are as they should be",
			"makes an orphan: a ConfigMap of a ConfigSet that does not exist", "it is gone, with its ConfigMaps",
		}, "\n")))
	})

	bubble.It("begins again where it has ended", func() {
		r := newRig()
		stop := r.demonstrate(r.run(ops.Options{}).controller)
		time.Sleep(7*pace + pace/2)
		r.wire.taken()
		r.expectGone("greeter")
		time.Sleep(slowPace)
		r.expectComplete("greeter", 3)
		stop()
	})

	bubble.It("goes on after a step that changes nothing", func() {
		r := newRig()
		stop := r.demonstrate(r.run(ops.Options{}).controller)
		time.Sleep(pace / 2)
		r.patch("greeter", `{"spec":{"replicas":5}}`) // which it was about to do
		time.Sleep(slowPace + 7*pace)
		r.expectGone("greeter")
		stop()
	})

	bubble.It("begins again soon where the server came back empty", func() {
		r := newRig()
		stop := r.demonstrate(r.run(ops.Options{}).controller)
		time.Sleep(pace / 2)
		r.expectComplete("greeter", 3)
		old := r.server
		r.wire.set(func() { r.wire.down = true })
		Expect(old.Close()).To(Succeed())
		time.Sleep(20 * time.Second) // the demonstration is at its second round
		r.newServer()
		r.wire.set(func() { r.wire.down = false })
		time.Sleep(5 * slowPace)
		_, err := r.sets.Get(r.ctx, "greeter", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		stop()
	})
})

// demonstrate runs the demonstration of a controller until it is told to stop.
func (r *rig) demonstrate(c *controller) (stop func()) {
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		newDemo(c).run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// onlyMessage drops the attributes of a log line.
func onlyMessage(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.MessageKey {
		return a
	}
	return slog.Attr{}
}

// demonstrated are the lines of the demonstration.
func demonstrated(log string) (lines []string) {
	for line := range strings.Lines(log) {
		if _, said, found := strings.Cut(line, "demo: "); found {
			lines = append(lines, strings.TrimSuffix(strings.TrimSpace(said), `"`))
		}
	}
	return lines
}

// until is a writer that calls seen for a line with text.
type until struct {
	text string
	seen func()
	said bytes.Buffer
}

func (u *until) Write(line []byte) (int, error) {
	if strings.Contains(string(line), u.text) {
		u.seen()
	}
	return u.said.Write(line)
}

func TestTheProgramShowsSomethingAndEndsInOrder(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out := &until{text: "demo: all 3 ConfigMaps are as they should be", seen: interrupt}
	began := time.Now()
	if status := run(ctx, nil, out); status != 0 {
		t.Errorf("status %d", status)
	}
	for _, part := range []string{"started an API server", "ConfigSets are served", out.text, "msg=stopped"} {
		if !strings.Contains(out.said.String(), part) {
			t.Errorf("it did not say %q", part)
		}
	}
	if t.Failed() {
		t.Logf("after %v:\n%s", time.Since(began), out.said.String())
	}
}

func TestAWrongFlagIsSaid(t *testing.T) {
	var out bytes.Buffer
	if status := run(t.Context(), []string{"-install-crd=maybe"}, &out); status != 2 || !strings.Contains(out.String(), "install-crd") {
		t.Errorf("status %d, %s", status, out.String())
	}
}
