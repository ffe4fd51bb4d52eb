package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/internal/worker"
)

// printer writes lines, one at a time whoever sends them, each with the time
// since the start. It also knows which changes the informers are still to
// report. Use newPrinter; close it when nobody can send any more.
type printer struct {
	start   time.Time
	lines   chan line
	expects chan []string
	waits   chan chan<- struct{}
	askDue  chan chan []string
	workers *worker.Group
}

// line is one line of output; change is what it reports, or "".
type line struct {
	text   string
	change string
	bare   bool // without the time
}

func newPrinter(out io.Writer) *printer {
	p := &printer{
		start:   time.Now(),
		lines:   make(chan line),
		expects: make(chan []string),
		waits:   make(chan chan<- struct{}),
		askDue:  make(chan chan []string),
		workers: worker.New(context.Background()),
	}
	p.workers.Go("quickstart: print", func(context.Context) { p.print(out) })
	return p
}

// print owns the output and the set of changes that are due.
func (p *printer) print(out io.Writer) {
	due := map[string]bool{}
	var waiting []chan<- struct{}
	for {
		if len(due) == 0 {
			for _, waiter := range waiting {
				close(waiter)
			}
			waiting = nil
		}
		select {
		case line, more := <-p.lines:
			if !more {
				return
			}
			text := line.text + "\n"
			if !line.bare {
				text = fmt.Sprintf("%8.3fs  %s", time.Since(p.start).Seconds(), text)
			}
			_, _ = io.WriteString(out, text) // if the output is gone, so is who could be told
			delete(due, line.change)
		case changes := <-p.expects:
			for _, change := range changes {
				due[change] = true
			}
		case waiter := <-p.waits:
			waiting = append(waiting, waiter)
		case answer := <-p.askDue:
			answer <- slices.Sorted(maps.Keys(due))
		}
	}
}

// close ends the printer once everything sent is written.
func (p *printer) close() {
	close(p.lines)
	p.workers.Wait()
	p.workers.Stop()
}

// say prints a line of the program's own.
func (p *printer) say(format string, arguments ...any) {
	p.lines <- line{text: fmt.Sprintf(format, arguments...)}
}

// conclude prints the result, without the time, so that scripts can rely on the
// line.
func (p *printer) conclude(text string) { p.lines <- line{text: text, bare: true} }

// report prints a change that an informer has told of.
func (p *printer) report(change, text string) {
	p.lines <- line{text: text, change: change}
}

// expect announces changes, before they are made, that informers have to
// report.
func (p *printer) expect(changes ...string) { p.expects <- changes }

// settle waits until all announced changes are reported.
func (p *printer) settle(ctx context.Context) error {
	settled := make(chan struct{})
	p.waits <- settled
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		answer := make(chan []string, 1)
		p.askDue <- answer
		return fmt.Errorf("the informers have not reported %s: %w", strings.Join(<-answer, ", "), context.Cause(ctx))
	}
}
