package informer

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2/textlogger"
)

// logbook keeps log lines.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logbook) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// take returns the text since the last take.
func (l *logbook) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// logged makes r log to the logbook.
func (r *rig) logged() *logbook {
	out := &logbook{}
	r.log = textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out)))
	return out
}

// expectLines compares the lines since the last time that contain what with
// wanted parts of each.
func expectLines(t *testing.T, out *logbook, what string, want ...[]string) {
	t.Helper()
	synctest.Wait()
	text := out.take()
	var lines []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, what) {
			lines = append(lines, line)
		}
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines with %q, want %d:\n%s", len(lines), what, len(want), text)
	}
	for k, parts := range want {
		for _, part := range parts {
			if !strings.Contains(lines[k], part) {
				t.Errorf("line %q lacks %q", lines[k], part)
			}
		}
	}
}

func TestACallThatDoesNotReturnIsLoggedOnceThenItsReturn(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		out := r.logged()
		r.from.set("a")
		hold := make(chan struct{})
		h := &recorder{}
		r.add(h, WithName("careful"))
		r.add(HandlerFuncs[*thing]{AddFunc: func(obj *thing, _ bool) {
			if obj.Name == "b" {
				<-hold
			}
		}}, WithName("stuck"))
		r.start()
		time.Sleep(time.Hour)
		r.from.set("c")
		r.from.set("b")
		time.Sleep(29 * time.Second)
		expectLines(t, out, "slow")
		time.Sleep(time.Second)
		expectLines(t, out, "slow", []string{`handler="stuck"`, `key="b"`, `duration="30s"`, "/informer_test.go:"})
		r.from.set("a")
		time.Sleep(time.Hour)
		expectLines(t, out, "slow")
		close(hold)
		expectLines(t, out, "returned", []string{`handler="stuck"`, `duration="1h0m30s"`})
	})
}

func TestACallDuringTheReplayIsLoggedWithItsKey(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		out := r.logged()
		r.from.set("a")
		r.from.set("ns/b")
		r.start()
		r.add(&recorder{hold: func() { time.Sleep(90 * time.Second) }}, WithSlowAfter(time.Minute))
		time.Sleep(time.Hour)
		expectLines(t, out, "is slow", []string{`key="a"`, `duration="1m0s"`}, []string{`key="ns/b"`, `duration="1m0s"`})
	})
}

func TestCallsBelowTheThresholdAreNotLogged(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		out := r.logged()
		r.start()
		r.add(&recorder{hold: func() { time.Sleep(29 * time.Second) }})
		r.add(&recorder{hold: func() { time.Sleep(time.Hour) }}, WithSlowAfter(0))
		for k := range 10 {
			r.from.set(fmt.Sprint("key-", k))
		}
		time.Sleep(24 * time.Hour)
		expectLines(t, out, "slow")
	})
}

func TestAHandlerFarBehindIsLoggedOnceUntilItHasCaughtUp(t *testing.T) {
	bubble(t, Options[*thing]{MaxPending: 1 << 20}, func(t *testing.T, r *rig) {
		out := r.logged()
		update := func(n int) {
			for range n {
				r.from.set("a")
				synctest.Wait()
			}
		}
		hold := make(chan struct{})
		blocked := HandlerFuncs[*thing]{UpdateFunc: func(_, _ *thing) { <-hold }}
		r.add(&recorder{})
		r.add(blocked, WithName("stuck"), WithSlowAfter(0))
		r.start()
		for range 2 {
			update(1500)
			expectLines(t, out, "far behind") // for less than a second so far
			time.Sleep(2 * time.Second)
			update(500)
			expectLines(t, out, "far behind", []string{`handler="stuck"`, `depth=1`, `age="2s"`, "/informer_test.go:"})
			close(hold)
			synctest.Wait()
			hold = make(chan struct{})
		}
		close(hold)
	})
}

func TestAHandlerBusyWithItsInitialAddsIsNotFarBehind(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		out := r.logged()
		r.from.set("a")
		r.start()
		hold := make(chan struct{})
		r.add(HandlerFuncs[*thing]{AddFunc: func(*thing, bool) { <-hold }}, WithSlowAfter(0))
		for range 1500 {
			time.Sleep(10 * time.Millisecond)
			r.from.set("a")
		}
		expectLines(t, out, "far behind")
		close(hold)
	})
}
