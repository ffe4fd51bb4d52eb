package differential

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// player makes an informer of one side.
type player func(*server, settings) (contestant, error)

// play is one run of a script, in a bubble.
//
// bubble: all of it.
type play struct {
	server     *server
	settings   settings
	make       player
	contestant contestant
	handlers   []*handler
	asked      []line
	order      []line

	cancel context.CancelFunc // nil: not running
	ended  chan struct{}
}

// perform runs a script with one side and returns its trace, and the answers
// that the informer never asked for.
func perform(t *testing.T, s *script, make player) (done trace, unused []string) {
	playThrough(t, s, make, func(p *play) {
		done = p.trace()
		for _, a := range p.server.answers {
			if a.used == 0 {
				unused = append(unused, a.text)
			}
		}
	})
	return done, unused
}

// playThrough runs a script and looks at what became of it, in the bubble.
func playThrough(t *testing.T, s *script, make player, look func(*play)) {
	synctest.Test(t, func(t *testing.T) {
		p := &play{server: newServer(typed{}), settings: settings{kind: typed{}}, make: make}
		for _, c := range s.commands {
			if err := p.do(c); err != nil {
				p.stop()
				t.Fatalf("%s:%d: %s: %v", s.path, c.line, c.name, err)
			}
			synctest.Wait()
			p.noteOrder(c)
		}
		p.stop()
		look(p)
	})
}

// do performs one command.
func (p *play) do(c command) error {
	if done, err := p.settings.configure(c); done {
		if p.contestant != nil {
			return fmt.Errorf("too late")
		}
		p.server.kind = p.settings.kind
		return err
	}
	if steer, ok := serverCommands[c.name]; ok {
		p.server.mu.Lock()
		defer p.server.mu.Unlock()
		return steer(p.server, c.words)
	}
	command, ok := informerCommands[c.name]
	if !ok {
		return fmt.Errorf("no such command")
	}
	return command(p, c.words)
}

// The commands that concern the informer; doc.go explains them.
var informerCommands = map[string]func(*play, []string) error{
	"start":  func(p *play, _ []string) error { return p.start() },
	"stop":   func(p *play, _ []string) error { p.stop(); return nil },
	"add":    (*play).add,
	"remove": func(p *play, words []string) error { p.contestant.removeHandler(words[0]); return nil },
	"block":  func(p *play, words []string) error { p.handler(words[0]).blocked = make(chan struct{}); return nil },
	"unblock": func(p *play, words []string) error {
		close(p.handler(words[0]).blocked)
		return nil
	},
	"index": func(p *play, _ []string) error { return p.contestant.addIndex() },
	"wait":  (*play).wait,
	"ask":   (*play).ask,
}

// wait lets virtual time pass.
func (p *play) wait(words []string) error {
	d, err := time.ParseDuration(strings.Join(words, " "))
	time.Sleep(d)
	return err
}

// create makes the informer.
func (p *play) create() (err error) {
	if p.contestant == nil {
		p.contestant, err = p.make(p.server, p.settings)
	}
	return err
}

// start runs the informer, with a handler if it has none.
func (p *play) start() error {
	if p.cancel != nil {
		return fmt.Errorf("it is running")
	}
	if len(p.handlers) == 0 {
		if err := p.add([]string{"first"}); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.server.mu.Lock()
	p.server.stopping, p.server.idleSince = false, time.Now()
	p.server.run++
	p.server.mu.Unlock()
	for _, h := range p.handlers {
		h.mu.Lock()
		h.run = p.server.run
		h.mu.Unlock()
	}
	p.cancel, p.ended = cancel, make(chan struct{})
	go func() {
		defer close(p.ended)
		p.contestant.run(ctx)
	}()
	return nil
}

// stop stops the informer and notes if that takes any time.
func (p *play) stop() {
	for _, h := range p.handlers {
		if h.blocked != nil && !isClosed(h.blocked) {
			close(h.blocked)
		}
	}
	synctest.Wait()
	if p.cancel == nil {
		return
	}
	p.server.mu.Lock()
	p.server.stopping = true
	p.server.mu.Unlock()
	begun := time.Now()
	p.cancel()
	<-p.ended
	p.cancel = nil
	if time.Since(begun) > 0 {
		p.note("stopping took a while")
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// add adds a handler.
func (p *play) add(words []string) error {
	if err := p.create(); err != nil {
		return err
	}
	h := newHandler(words[0])
	h.payloads = p.settings.payloads
	for _, word := range words[1:] {
		value, ok := strings.CutPrefix(word, "resync=")
		switch {
		case word == "blocked":
			h.blocked = make(chan struct{})
		case word == "latest-only":
			h.latestOnly = true
		case ok:
			period, err := time.ParseDuration(value)
			if err != nil {
				return err
			}
			h.resync = &period
		default:
			return fmt.Errorf("no handler is %q", word)
		}
	}
	p.handlers = append(p.handlers, h)
	if err := p.contestant.addHandler(h); err != nil {
		p.note("add " + h.name + ": refused")
	}
	return nil
}

func (p *play) handler(name string) *handler {
	k := slices.IndexFunc(p.handlers, func(h *handler) bool { return h.name == name })
	return p.handlers[k]
}

// ask asks both informers something.
func (p *play) ask(words []string) error {
	if words[0] != "synced" {
		p.note(words[0] + ": " + p.contestant.ask(words[0], words[1:]))
		return nil
	}
	answers := []string{"informer " + yesNo(p.contestant.synced(""))}
	for _, h := range p.handlers {
		answers = append(answers, h.name+" "+yesNo(p.contestant.synced(h.name)))
	}
	p.note("synced: " + strings.Join(answers, ", "))
	return nil
}

func (p *play) note(text string) { p.asked = append(p.asked, line{text: text}) }

// noteOrder notes in which order a handler was told of the changes of one
// command: those of a stream, since the objects of a list come in any order.
func (p *play) noteOrder(c command) {
	for _, h := range p.handlers {
		keys := h.takeOrder()
		if slices.Contains([]string{"put", "delete", "recreate"}, c.name) && len(keys) > 1 {
			p.order = append(p.order, line{text: fmt.Sprintf("%s, %s: %s", h.name, c, strings.Join(keys, " "))})
		}
	}
}

// trace is what was observed.
func (p *play) trace() trace {
	var requests []line
	for _, r := range p.server.requests {
		requests = append(requests, line{text: r.String(), request: r})
	}
	done := trace{{name: "requests", lines: requests}}
	for _, h := range p.handlers {
		done = append(done, section{name: "handler " + h.name, lines: h.lines()})
	}
	done = append(done, section{name: "store", lines: p.store()})
	if len(p.order) > 0 {
		done = append(done, section{name: "order", lines: p.order})
	}
	if len(p.asked) > 0 {
		done = append(done, section{name: "asked", lines: p.asked})
	}
	return done
}

// store lists what is in the cache, and its index.
func (p *play) store() []line {
	version, objects, byIndex := p.contestant.store()
	var all []string
	for _, obj := range objects {
		all = append(all, describe(obj))
	}
	slices.Sort(all)
	lines := []line{{text: fmt.Sprintf("at %q: %s", version, strings.Join(all, ", "))}}
	for _, value := range []string{"x", "y"} {
		var keys []string
		for _, key := range byIndex(value) {
			keys = append(keys, shortKey(key))
		}
		slices.Sort(keys)
		if len(keys) > 0 {
			lines = append(lines, line{text: fmt.Sprintf("index %s: %s", value, strings.Join(keys, ", "))})
		}
	}
	return lines
}
