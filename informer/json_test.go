package informer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/reflector"
)

func TestNamesInJSONBeginSmall(t *testing.T) {
	for name, want := range map[string]string{
		"Name": "name", "HTTPStatus": "httpStatus", "UID": "uid", "LastError": "lastError", "RVOfX": "rvOfX", "X": "x",
	} {
		if got := jsonName(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestEveryKindOfValueHasItsFormInJSON(t *testing.T) {
	type inner struct {
		A int
		b int
	}
	at := time.Date(2000, 1, 1, 1, 0, 0, 5, time.FixedZone("x", 3600))
	for want, v := range map[string]any{
		`{"a":1}`:            inner{A: 1, b: 2},
		`{"ageSeconds":1.5}`: struct{ Age time.Duration }{1500 * time.Millisecond},
		`{"at":"2000-01-01T00:00:00.000000005Z","s":"<"}`: struct {
			At, Zero time.Time
			S        string
		}{At: at, S: "<"},
		`{"err":"a \"quoted\" one"}`: struct{ Err, None error }{Err: errors.New(`a "quoted" one`)},
		`{"phase":"backing off"}`:    struct{ Phase reflector.Phase }{reflector.BackingOff},
		`{"l":[],"m":{},"p":null}`: struct {
			L []int
			M map[string]int
			P *inner
		}{},
		`{"l":["1",{"a":0}],"m":{"b":2,"c":1}}`: struct {
			L []any
			M map[reflector.RelistReason]int64
		}{
			[]any{"1", &inner{}}, map[reflector.RelistReason]int64{"c": 1, "b": 2}},
		`{"e":["boom"]}`: struct{ E []error }{[]error{errors.New("boom")}},
		`null`:           nil,
	} {
		got, err := viewJSON(v)
		var back any
		if err == nil {
			err = json.Unmarshal(got, &back)
		}
		unescaped := strings.ReplaceAll(string(got), `\u003c`, "<")
		if err != nil || unescaped != want {
			t.Errorf("got  %s %v\nwant %s", unescaped, err, want)
		}
	}
}

// The names are an interface: programs read them. Adding is fine.
func TestTheNamesOfAStatusInJSONDoNotChange(t *testing.T) {
	bubble(t, Options[*thing]{Name: "things", Transform: func(obj *thing) (*thing, error) {
		if obj.Name == "odd" {
			return nil, errors.New("odd one")
		}
		return obj, nil
	}}, func(t *testing.T, r *rig) {
		r.from.set("odd")
		r.from.set("even")
		r.add(&recorder{})
		r.start()
		r.from.refuse(forbidden)
		time.Sleep(time.Minute)
		text, err := json.Marshal(r.Status())
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		paths := map[string]any{}
		flatten("", got, paths)
		for path, want := range map[string]any{
			"name": "things", "running": true, "phase": "backing off", "synced": true, "objects": 1.0, "resourceVersion": "3",
			"handlers.0.name": "handler-1", "handlers.0.depth": 0.0, "handlers.0.ageSeconds": 0.0,
			"transform.standing": 1.0, "transform.objects.0.key": "odd", "transform.objects.0.err": "transform failed: odd one",
			"reflector.httpStatus": 403.0, "reflector.lastVerb": "watch", "reflector.phase": "backing off",
			"reflector.relists.initial": 1.0, "queueDepth": 0.0, "queueAgeSeconds": 0.0,
		} {
			if diff := cmp.Diff(want, paths[path]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		}
		for _, path := range []string{"time", "since", "bytes", "processing.count", "processing.sumSeconds",
			"processing.buckets.0.upToSeconds", "collection.resource", "reflector.lastError", "reflector.lastErrorTime",
			"reflector.nextRetry", "reflector.tries", "reflector.reconnects"} {
			if _, found := paths[path]; !found {
				t.Errorf("%s is missing in %s", path, text)
			}
		}
	})
}

// flatten notes every leaf under its path.
func flatten(path string, v any, to map[string]any) {
	join := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			flatten(join(name), member, to)
		}
	case []any:
		for k, member := range v {
			flatten(join(fmt.Sprint(k)), member, to)
		}
	default:
		to[path] = v
	}
}

func TestAHistogramCountsLikeOneWhoLooksAtAllValues(t *testing.T) {
	var l latency
	values := []time.Duration{0, 1, time.Millisecond, time.Millisecond + 1, 99 * time.Millisecond, time.Second, 10 * time.Second, time.Hour}
	var sum time.Duration
	for _, v := range values {
		l.observe(v)
		sum += v
	}
	h := l.histogram()
	if h.Count != uint64(len(values)) || h.Sum != sum || len(h.Buckets) != len(latencyBounds) {
		t.Errorf("got %+v", h)
	}
	for _, b := range h.Buckets {
		want := len(slices.DeleteFunc(slices.Clone(values), func(v time.Duration) bool { return v > b.UpTo }))
		if b.Count != uint64(want) {
			t.Errorf("up to %v: %d, want %d", b.UpTo, b.Count, want)
		}
	}
}
