package golden

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// until repeats a request this often, for this long.
const (
	untilInterval = 100 * time.Millisecond
	untilLimit    = 15 * time.Second
)

// Options change what is compared.
type Options struct {
	// IgnoreManagedFields leaves out every managedFields.
	IgnoreManagedFields bool
}

// Result is what came of one scenario.
type Result struct {
	Scenario *Scenario
	Skipped  string // why it was not run, or ""
	Steps    []StepResult
}

// StepResult is what came of one step. It passed if there are no differences.
type StepResult struct {
	Number      int    // from 1
	Title       string // "GET /api/v1/pods", or what the step does
	Differences []Difference
}

// runner replays one scenario.
type runner struct {
	target   Target
	client   *http.Client
	scenario *Scenario
	options  Options
	vars     variables
	streams  map[string]*stream
}

// Run replays a scenario. The error wraps ErrSetup, or is the context's; wrong
// answers are differences in the result.
func Run(ctx context.Context, target Target, scenario *Scenario, options Options) (Result, error) {
	result := Result{Scenario: scenario}
	for _, need := range scenario.Requires {
		if need != "compact" || target.Compact == nil {
			result.Skipped = "requires " + need
			return result, nil
		}
	}
	r := &runner{target: target, client: target.client(), scenario: scenario, options: options,
		vars: variables{}, streams: map[string]*stream{}}
	for i, name := range scenario.Namespaces {
		r.vars["ns"+suffix(i)] = name
	}
	if err := r.setUp(ctx); err != nil {
		return result, err
	}
	var comparisons []*comparison
	for i := range scenario.Steps {
		step := &scenario.Steps[i]
		c := r.step(ctx, step)
		comparisons = append(comparisons, &c)
		result.Steps = append(result.Steps, StepResult{Number: i + 1, Title: r.title(step)})
	}
	for _, s := range r.streams {
		s.close()
	}
	resolve(comparisons)
	for i, c := range comparisons {
		result.Steps[i].Differences = c.differences
	}
	if err := ctx.Err(); err != nil {
		return result, err
	}
	return result, r.tearDown(ctx)
}

// suffix numbers namespaces: ns, ns2, ns3.
func suffix(index int) string {
	if index == 0 {
		return ""
	}
	return fmt.Sprint(index + 1)
}

func (r *runner) title(s *Step) string {
	switch {
	case s.Collect != "":
		return "collect " + s.Collect
	case s.Compact:
		return "compact"
	case s.WaitMs != 0:
		return fmt.Sprintf("wait %d ms", s.WaitMs)
	}
	target, err := r.vars.expand(s.Path)
	if err != nil {
		target = s.Path
	}
	return s.Method + " " + target
}

// step runs one step and compares its answer.
func (r *runner) step(ctx context.Context, s *Step) comparison {
	var c comparison
	got, raw, err := r.perform(ctx, s)
	if err != nil {
		c.differ("step", "%v", err)
		return c
	}
	if s.Expect != nil {
		rules := newAdapter(r.scenario, s, r.options.IgnoreManagedFields)
		want, err := s.Expect.recorded(rules)
		if err != nil {
			c.differ("step", "the recording cannot be read: %v", err)
			return c
		}
		got.body = rules.adapt(got.body)
		for i := range got.events {
			got.events[i] = rules.adaptEvent(got.events[i])
		}
		c = compare(want, got)
	}
	r.capture(s, raw, &c)
	return c
}

// perform does what a step says and returns the answer, and its raw value for
// captures and assertions.
func (r *runner) perform(ctx context.Context, s *Step) (got answer, raw any, err error) {
	switch {
	case s.WaitMs != 0:
		return answer{}, nil, wait(ctx, time.Duration(s.WaitMs)*time.Millisecond)
	case s.Compact:
		return answer{}, nil, r.target.Compact(ctx)
	case s.Collect != "":
		open := r.streams[s.Collect]
		if open == nil {
			return answer{}, nil, fmt.Errorf("there is no open stream %q", s.Collect)
		}
		delete(r.streams, s.Collect)
		got, raw = collect(open, s.Stream, answer{})
		return got, raw, nil
	case s.Stream != nil:
		return r.stream(ctx, s)
	}
	return r.request(ctx, s)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// request sends a request until its answer is as wanted, or once.
func (r *runner) request(ctx context.Context, s *Step) (got answer, raw any, err error) {
	begin := time.Now()
	for {
		got, raw, err = r.once(ctx, s)
		if err != nil || s.Until == nil || s.Until.holds(got, raw) || time.Since(begin) >= untilLimit {
			return got, raw, err
		}
		if err := wait(ctx, untilInterval); err != nil {
			return got, raw, err
		}
	}
}

func (u *Until) holds(got answer, raw any) bool {
	if u.Status != 0 && got.status != u.Status {
		return false
	}
	if u.Path == nil {
		return true
	}
	value, ok := at(*u.Path, raw)
	return ok && text(value) == u.Equals
}

func (r *runner) once(ctx context.Context, s *Step) (answer, any, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	request, err := s.newRequest(ctx, r.target.URL, r.vars)
	if err != nil {
		return answer{}, nil, err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return answer{}, nil, err
	}
	defer response.Body.Close()
	return readAnswer(response)
}

// stream opens a stream and reads it, or leaves it in the background. An answer
// other than 200 is an ordinary one.
func (r *runner) stream(ctx context.Context, s *Step) (answer, any, error) {
	request, err := s.newRequest(ctx, r.target.URL, r.vars)
	if err != nil {
		return answer{}, nil, err
	}
	response, err := r.open(request)
	if err != nil {
		return answer{}, nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return readAnswer(response)
	}
	opened := openStream(ctx, response, s.Stream.Bookmarks == "collapse")
	if s.Stream.Background == "" {
		got, raw := collect(opened, s.Stream, answerTo(response))
		return got, raw, nil
	}
	if old := r.streams[s.Stream.Background]; old != nil {
		old.close()
	}
	r.streams[s.Stream.Background] = opened
	if s.Stream.Await > 0 {
		opened.read(s.Stream.Await, s.Stream.limit(), false)
		if came := len(opened.events); came < s.Stream.Await {
			return answer{}, nil, fmt.Errorf("waited for %d events, got %d; the stream: %s", s.Stream.Await, came, opened.ended())
		}
	}
	return answerTo(response), nil, nil
}

// open sends a request whose body may be read for ever, but whose headers must
// come in time.
func (r *runner) open(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	late := time.AfterFunc(requestLimit, func() { cancel(fmt.Errorf("no headers after %v", requestLimit)) })
	response, err := r.client.Do(request.WithContext(ctx))
	if err == nil && late.Stop() {
		return response, nil // closing the body frees what cancel would
	}
	if err == nil {
		_ = response.Body.Close() // too late to be of use
		err = context.Cause(ctx)
	}
	late.Stop()
	cancel(err)
	return nil, err
}

// collect reads a stream to its expected end and closes it.
func collect(s *stream, how *Stream, got answer) (answer, any) {
	s.collapse = s.collapse || how.Bookmarks == "collapse"
	s.read(how.Events, how.limit(), true)
	s.close()
	got.events, got.end = s.events, s.ended()
	raw := map[string]any{"events": clone(slices.Clone(s.events))}
	return got, raw
}

// capture checks the assertions of a step and takes its variables.
func (r *runner) capture(s *Step, raw any, c *comparison) {
	for _, assert := range s.Assert {
		r.assert(assert, raw, c)
	}
	for _, name := range sortedKeys(s.Capture) {
		value, ok := at(s.Capture[name], raw)
		if !ok {
			c.differ("capture", "there is no %s to be kept as %q", s.Capture[name], name)
			continue
		}
		r.vars[name] = clone(value)
	}
}

func (r *runner) assert(assert Assert, raw any, c *comparison) {
	value, ok := at(assert.Path, raw)
	if !ok {
		c.differ("assert", "there is no %s", assert.Path)
		return
	}
	for _, comparand := range []struct {
		with  *string
		equal bool
		words string
	}{{assert.Equals, true, "must be"}, {assert.Differs, false, "must not be"}} {
		if comparand.with == nil {
			continue
		}
		other, err := r.vars.expand(*comparand.with)
		if err != nil {
			c.differ("assert", "%v", err)
		} else if (text(value) == other) != comparand.equal {
			c.differ("assert", "%s %s %q, got %q", assert.Path, comparand.words, other, text(value))
		}
	}
}

// at returns the first value at a path.
func at(where string, value any) (any, bool) {
	parsed, err := parsePath(where)
	if err != nil || value == nil {
		return nil, false
	}
	found := parsed.find(value)
	if len(found) == 0 {
		return nil, false
	}
	return found[0], true
}
