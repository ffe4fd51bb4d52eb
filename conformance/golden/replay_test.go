package golden

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// canned is a server that answers one request after the other with what it was
// told, and remembers them.
type canned struct {
	answers  []cannedAnswer
	requests []string // method, path, headers that matter, body
}

// cannedAnswer is one answer; the body of one that is open does not end.
type cannedAnswer struct {
	status  int
	headers map[string]string
	body    string
	open    bool
	after   time.Duration // until each line of the body comes
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := r.Method + " " + r.URL.RequestURI() + " [" + r.Header.Get("Content-Type") + "|" + r.Header.Get("Accept") + "|" + r.Header.Get("User-Agent") + "]"
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		sent += " " + string(body)
	}
	c.requests = append(c.requests, sent)
	if len(c.answers) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	a := c.answers[0]
	c.answers = c.answers[1:]
	response := &http.Response{StatusCode: a.status, Header: http.Header{}, Request: r,
		Body: &cannedBody{lines: strings.SplitAfter(a.body, "\n"), answer: a, closed: make(chan struct{})}}
	for name, value := range a.headers {
		response.Header.Set(name, value)
	}
	return response, nil
}

// cannedBody gives one line at a time.
//
// bubble: what comes late is read in the bubbles of play and of the table of
// streams.
type cannedBody struct {
	lines  []string
	answer cannedAnswer
	closed chan struct{}
}

func (b *cannedBody) Read(p []byte) (int, error) {
	if len(b.lines) == 0 || b.lines[0] == "" {
		if b.answer.open {
			<-b.closed
			return 0, io.ErrClosedPipe
		}
		return 0, io.EOF
	}
	if b.answer.after > 0 {
		select {
		case <-time.After(b.answer.after):
		case <-b.closed:
			return 0, io.ErrClosedPipe
		}
	}
	n := copy(p, b.lines[0])
	if b.lines[0] = b.lines[0][n:]; b.lines[0] == "" {
		b.lines = b.lines[1:]
	}
	return n, nil
}

func (b *cannedBody) Close() error { close(b.closed); return nil }

// play replays steps against canned answers in a bubble, with {{ns}} = "n".
func play(t *testing.T, steps string, server *canned) (result Result) {
	t.Helper()
	scenario, err := Parse([]byte(`{"name":"s","area":"a","steps":[` + steps + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		target := Target{URL: "http://canned.invalid", Transport: server, Fresh: true, Compact: func(context.Context) error {
			server.requests = append(server.requests, "compact")
			return nil
		}}
		if result, err = Run(t.Context(), target, scenario, Options{}); err != nil {
			t.Fatal(err)
		}
	})
	return result
}

func jsonAnswer(body string) cannedAnswer {
	return cannedAnswer{status: 200, headers: map[string]string{"Content-Type": "application/json"}, body: body}
}

// The recorded steps of the tests of planted differences, and right answers.
const plantedSteps = `
{"method":"POST","path":"/c","body":{"a":1},"capture":{"rv":"metadata.resourceVersion"},"expect":{"status":201,
  "headers":{"Content-Type":"application/json;a=1;b=2","Warning":"299 - \"w\"","Retry-After":"1","Allow":"GET"},
  "body":{"kind":"C","n":1,"yes":true,"nil":null,"l":["a","b"],"age":"<age>","any":"<any>","metadata":{"name":"g-<rand:1>","uid":"<uid:1>",
    "resourceVersion":"<rv:1>","creationTimestamp":"<time>","micro":"<microtime>",
    "managedFields":[{"manager":"m","operation":"Update"}]}}}},
{"method":"GET","path":"/c","assert":[{"path":"metadata.resourceVersion","equals":"{{rv}}"},{"path":"metadata.resourceVersion","differs":"1"}],
  "expect":{"status":200,"headers":{"Content-Type":"application/json"},"body":{"metadata":{"resourceVersion":"<rv:1+>",
    "continue":{"$continue":{"v":"v1","rv":"<rv:same>","start":"a"}}},"items":[{"uid":"<uid:1>"},{"uid":"<uid:2>"}]}}},
{"method":"GET","path":"/w","stream":{"events":2},"expect":{"status":200,"headers":{"Content-Type":"application/json"},
  "events":[{"type":"ADDED","object":{"rv":"<rv:1>"}},{"type":"MODIFIED","object":{"rv":"<rv:2>"}}],"end":"open"}},
{"method":"GET","path":"/w","stream":{},"expect":{"status":200,"headers":{"Content-Type":"application/json"},
  "events":[{"type":"ADDED","object":{"rv":"<rv:2>"}}],"end":"eof"}},
{"method":"GET","path":"/p","expect":{"status":200,"headers":{"Content-Type":"application/vnd.kubernetes.protobuf"},
  "body":{"$protobuf":{"prefix":"k8s\\0","apiVersion":"v1","kind":"C","hasRaw":true}}}},
{"method":"GET","path":"/t","expect":{"status":404,"headers":{"Content-Type":"text/plain"},"body":"not <rv:any> here\n"}},
{"method":"DELETE","path":"/e","expect":{"status":204,"headers":{}}},
{"method":"GET","path":"/y","expect":{"status":200,"headers":{"Content-Type":"application/yaml"},"body":{"a":[1,"b"]}}}`

func plantedAnswers() []cannedAnswer {
	const uid1, uid2 = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
	return []cannedAnswer{
		{status: 201, headers: map[string]string{"Content-Type": "application/json; b=2; a=1", "Warning": `299 - "w"`, "Retry-After": "1", "Allow": "GET"},
			body: `{"kind":"C","n":1,"yes":true,"nil":null,"l":["a","b"],"age":"5s","any":[],"metadata":{"name":"g-x1y2z","uid":"` + uid1 + `",
"resourceVersion":"10","creationTimestamp":"2020-01-02T03:04:05Z","micro":"2020-01-02T03:04:05.000000Z",
"managedFields":[{"manager":"m","operation":"Update","time":"x"}]}}`},
		jsonAnswer(`{"metadata":{"resourceVersion":"10","continue":"eyJ2IjoidjEiLCJydiI6MTAsInN0YXJ0IjoiYSJ9"},"items":[{"uid":"` + uid1 + `"},{"uid":"` + uid2 + `"}]}`),
		{status: 200, headers: map[string]string{"Content-Type": "application/json"}, open: true,
			body: `{"type":"ADDED","object":{"rv":"10"}}` + "\n" + `{"type":"MODIFIED","object":{"rv":"12"}}` + "\n"},
		jsonAnswer(`{"type":"ADDED","object":{"rv":"12"}}` + "\n"),
		{status: 200, headers: map[string]string{"Content-Type": "application/vnd.kubernetes.protobuf"}, body: protobuf("v1", "C", "raw")},
		{status: 404, headers: map[string]string{"Content-Type": "text/plain"}, body: "not 7 here\n"},
		{status: 204},
		{status: 200, headers: map[string]string{"Content-Type": "application/yaml"}, body: "a:\n- 1\n- b\n"},
	}
}

func protobuf(apiVersion, kind, raw string) string {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: []byte(raw)}
	data, err := unknown.Marshal()
	if err != nil {
		panic(err)
	}
	return protobufPrefix + string(data)
}

func TestRightAnswersPass(t *testing.T) {
	for _, step := range play(t, plantedSteps, &canned{answers: plantedAnswers()}).Steps {
		if len(step.Differences) > 0 {
			t.Error(step.Describe("s"))
		}
	}
}

// plantedDifference is a change of one answer, and where it must be found.
type plantedDifference struct {
	name  string
	step  int // from 1
	plant func(*cannedAnswer)
	path  string // of the difference
}

// in is a change of the body.
func in(old, replacement string) func(*cannedAnswer) {
	return func(a *cannedAnswer) {
		if !strings.Contains(a.body, old) {
			panic("no " + old + " to replace")
		}
		a.body = strings.Replace(a.body, old, replacement, 1)
	}
}

// header is a change of a header.
func header(name, value string) func(*cannedAnswer) {
	return func(a *cannedAnswer) { a.headers[name] = value }
}

var plantedDifferences = []plantedDifference{
	{"status", 1, func(a *cannedAnswer) { a.status = 200 }, "status"},
	{"media type", 2, header("Content-Type", "application/yaml"), "headers.Content-Type"},
	{"media type's parameter", 1, header("Content-Type", "application/json; a=1"), "headers.Content-Type"},
	{"warning", 1, header("Warning", `299 - "v"`), "headers.Warning"},
	{"no warning", 1, func(a *cannedAnswer) { delete(a.headers, "Warning") }, "headers.Warning"},
	{"surplus header", 2, header("Retry-After", "1"), "headers.Retry-After"},
	{"allow", 1, header("Allow", "POST"), "headers.Allow"},
	{"value", 1, in(`"C"`, `"D"`), "body.kind"},
	{"type", 1, in(`"n":1`, `"n":"1"`), "body.n"},
	{"number written differently", 1, in(`"n":1`, `"n":1.0`), "body.n"},
	{"bool", 1, in("true", "false"), "body.yes"},
	{"absent is not null", 1, in(`"nil":null,`, ""), "body.nil"},
	{"null is not absent", 1, in(`"kind"`, `"more":null,"kind"`), "body.more"},
	{"order of a list", 1, in(`["a","b"]`, `["b","a"]`), "body.l[0]"},
	{"short list", 1, in(`["a","b"]`, `["a"]`), "body.l"},
	{"long list", 1, in(`["a","b"]`, `["a","b","c"]`), "body.l"},
	{"nothing where anything is wanted", 1, in(`"any":[],`, ""), "body.any"},
	{"age", 1, in("5s", "soon"), "body.age"},
	{"random part of a name", 1, in("x1y2z", "x1y2"), "body.metadata.name"},
	{"time", 1, in("03:04:05Z", "03:04:05.1Z"), "body.metadata.creationTimestamp"},
	{"microtime", 1, in("05.000000Z", "05.000Z"), "body.metadata.micro"},
	{"no uid", 1, in("00000000-0000-0000-0000-000000000001", "1"), "body.metadata.uid"},
	{"managedFields", 1, in(`"manager":"m"`, `"manager":"x"`), "body.metadata.managedFields[0].manager"},
	{"another uid for a symbol", 2, in("00000001", "00000003"), "body.items[0].uid"},
	{"one uid for two symbols", 2, in("00000002", "00000001"), "body.items[1].uid"},
	{"list before its objects", 2, in(`"resourceVersion":"10"`, `"resourceVersion":"9"`), "body.metadata.resourceVersion"},
	{"list at a later object", 2, in(`"resourceVersion":"10"`, `"resourceVersion":"12"`), "body.metadata.resourceVersion"},
	{"assertion", 2, in(`"resourceVersion":"10"`, `"resourceVersion":"11"`), "assert"},
	{"version in a token", 2, in("6MTAs", "6MTEs"), "body.metadata.continue.$continue.rv"},
	{"start in a token", 2, in("YSJ9", "YiJ9"), "body.metadata.continue.$continue.start"},
	{"versions out of order", 3, in("12", "9"), "events[1].object.rv"},
	{"type of an event", 3, in("MODIFIED", "DELETED"), "events[1].type"},
	{"missing event", 3, in(`{"type":"ADDED","object":{"rv":"10"}}`+"\n", ""), "events"},
	{"surplus event", 3, func(a *cannedAnswer) { a.body += `{"type":"ADDED","object":{}}` + "\n" }, "events"},
	{"end too early", 3, func(a *cannedAnswer) { a.open = false }, "end"},
	{"no end", 4, func(a *cannedAnswer) { a.open = true }, "end"},
	{"broken event", 4, func(a *cannedAnswer) { a.body += "{" }, "end"},
	{"ordinary answer to a watch", 4, func(a *cannedAnswer) { a.status = 410 }, "status"},
	{"kind of a protobuf object", 5, func(a *cannedAnswer) { a.body = protobuf("v1", "D", "raw") }, "body.$protobuf.kind"},
	{"empty protobuf object", 5, func(a *cannedAnswer) { a.body = protobuf("v1", "C", "") }, "body.$protobuf.hasRaw"},
	{"broken protobuf object", 5, func(a *cannedAnswer) { a.body += "\xff" }, "body.$protobuf.error"},
	{"no protobuf object", 5, func(a *cannedAnswer) { a.body = "x" }, "body"},
	{"text", 6, in("here", "there"), "body"},
	{"no body", 6, func(a *cannedAnswer) { a.body = "" }, "body"},
	{"surplus body", 7, func(a *cannedAnswer) { a.body = "x" }, "body"},
	{"YAML", 8, in("- b", "- c"), "body.a[1]"},
}

func TestEachKindOfDifferenceIsFound(t *testing.T) {
	for _, test := range plantedDifferences {
		answers := plantedAnswers()
		test.plant(&answers[test.step-1])
		for _, step := range play(t, plantedSteps, &canned{answers: answers}).Steps {
			paths := ""
			for _, d := range step.Differences {
				paths += d.Path + "\n"
			}
			if step.Number == test.step && !strings.Contains("\n"+paths, "\n"+test.path+"\n") {
				t.Errorf("%s: not found at %s but at %q", test.name, test.path, paths)
			}
		}
	}
}

func TestRequestsAreSentAsTheStepsSay(t *testing.T) {
	server := &canned{answers: []cannedAnswer{jsonAnswer(`{"a":{"b":1,"c":2},"d":"<&>"}`), {status: 200}, {status: 200}, {status: 200}, {status: 200}}}
	result := play(t, `
{"method":"POST","path":"/a?b=%31","body": {"z": "<", "a": [1.0, "{{repeat:2:x}}"]},"capture":{"o":"","b":"a.b"}},
{"compact":true},
{"method":"PUT","path":"/b/{{b}}","bodyFrom":{"var":"o","merge":{"a":{"c":null,"e":"{{b}}"}}}},
{"method":"POST","path":"/c","headers":{"Content-Type":"","Accept":"x/y"},"bodyText":"{{b}} {"},
{"method":"POST","path":"/d","headers":{"Content-Type":"x/y"},"bodyBase64":"AAE="},
{"method":"DELETE","path":"/e"},
{"method":"GET","path":"/{{missing}}"},
{"stream":{},"collect":"w"}`, server)
	want := []string{
		`POST /a?b=%31 [application/json||golden/1] {"z":"<","a":[1.0,"xx"]}`,
		"compact",
		`PUT /b/1 [application/json||golden/1] {"a":{"b":1,"e":"1"},"d":"<&>"}`,
		"POST /c [|x/y|golden/1] 1 {",
		"POST /d [x/y||golden/1] \x00\x01",
		"DELETE /e [||golden/1]",
	}
	if got := strings.Join(server.requests, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got requests\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	for _, step := range result.Steps {
		if impossible := step.Number > 6; impossible != (len(step.Differences) > 0) {
			t.Error(step.Describe("s"))
		}
	}
}

func TestRequestsAreRepeatedUntilTheAnswerIsAsWanted(t *testing.T) {
	server := &canned{answers: []cannedAnswer{{status: 500}, jsonAnswer(`{"a":"x"}`), jsonAnswer(`{"a":"y"}`)}}
	result := play(t, `{"method":"GET","path":"/","until":{"status":200,"path":"a","equals":"y"},"expect":{"status":200,
		"headers":{"Content-Type":"application/json"},"body":{"a":"y"}}}`, server)
	if len(result.Steps[0].Differences) > 0 || len(server.answers) > 0 {
		t.Errorf("%s, %d answers left", result.Steps[0].Describe("s"), len(server.answers))
	}
	for range 200 {
		server.answers = append(server.answers, cannedAnswer{status: 500})
	}
	server.requests = nil
	play(t, `{"method":"GET","path":"/","until":{"status":200},"expect":{"status":500,"headers":{}}}`, server)
	if begun := len(server.requests); begun != 151 {
		t.Errorf("%d requests in 15 s at 100 ms", begun)
	}
}

func TestStreamsAreReadAsTheStepsSay(t *testing.T) {
	event := `{"type":"ADDED","object":{}}` + "\n"
	bookmark := `{"type":"BOOKMARK","object":{}}` + "\n"
	last := `{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
	frame := func(kind string) string {
		data, err := (&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: []byte(protobuf("v1", "C", "raw"))}}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(data)))) + string(data)
	}
	for _, test := range []struct {
		name, media, stream, body, types, end string
		after                                 time.Duration
		open                                  bool
	}{
		{"to the end", "json", `{}`, event + event, "ADDED ADDED", "eof", 0, false},
		{"so many", "json", `{"events":1}`, event, "ADDED", "open", 0, true},
		{"surplus within 300 ms", "json", `{"events":1}`, event + event, "ADDED ADDED", "open", 200 * time.Millisecond, true},
		{"surplus after 300 ms", "json", `{"events":1}`, event + event, "ADDED", "open", 400 * time.Millisecond, true},
		{"for so long", "json", `{"seconds":2.5}`, event + event + event, "ADDED ADDED", "open", time.Second, true},
		{"for ten seconds", "json", `{}`, strings.Repeat(event, 12), strings.Repeat("ADDED ", 9) + "ADDED", "open", 999 * time.Millisecond, true},
		{"without ordinary bookmarks", "json", `{}`, bookmark + event + last + bookmark, "ADDED BOOKMARK", "eof", 0, false},
		{"bookmarks do not count", "json", `{"events":1}`, bookmark + event, "ADDED", "open", 100 * time.Millisecond, true},
		{"bookmarks in a row as one", "json", `{"bookmarks":"collapse"}`, bookmark + bookmark + event + bookmark, "BOOKMARK ADDED BOOKMARK", "eof", 0, false},
		{"protobuf", "vnd.kubernetes.protobuf", `{}`, frame("ADDED") + frame("BOOKMARK") + frame("DELETED"), "ADDED DELETED", "eof", 0, false},
		{"protobuf cut off", "vnd.kubernetes.protobuf", `{}`, frame("ADDED")[:9], "", "a frame of", 0, false},
		{"an empty line", "json", `{}`, event + "\n" + event, "ADDED", "an empty line", 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			body := &cannedBody{lines: strings.SplitAfter(test.body, "\n"), closed: make(chan struct{}), answer: cannedAnswer{open: test.open, after: test.after}}
			if test.media != "json" {
				body.lines = []string{test.body}
			}
			s, err := Parse([]byte(`{"name":"s","area":"a","steps":[{"method":"GET","path":"/","stream":` + test.stream + `}]}`))
			if err != nil {
				t.Fatal(err)
			}
			how := s.Steps[0].Stream
			opened := openStream(t.Context(), &http.Response{Body: body, Header: http.Header{"Content-Type": {"application/" + test.media}}}, how.Bookmarks != "")
			got, _ := collect(opened, how, answer{})
			var types bytes.Buffer
			for _, event := range got.events {
				types.WriteString(event.(map[string]any)["type"].(string) + " ")
			}
			if strings.TrimSpace(types.String()) != test.types || !strings.HasPrefix(got.end, test.end) {
				t.Errorf("%s: got %s and %q, want %s and %q", test.name, types.String(), got.end, test.types, test.end)
			}
		})
	}
}

func TestBackgroundStreamsGoOnUntilTheyAreCollected(t *testing.T) {
	event := func(n string) string { return `{"type":"ADDED","object":{"n":"` + n + `"}}` + "\n" }
	server := &canned{answers: []cannedAnswer{{status: 200, headers: map[string]string{"Content-Type": "application/json"},
		body: event("1") + event("2") + event("3"), open: true, after: time.Second}}}
	result := play(t, `
{"method":"GET","path":"/","stream":{"background":"w","await":1},"expect":{"status":200,"headers":{"Content-Type":"application/json"}}},
{"waitMs":5000},
{"collect":"w","stream":{"events":3},"capture":{"n":"events[2].object.n"},"assert":[{"path":"events[0].object.n","equals":"1"}],
 "expect":{"events":[{"type":"ADDED","object":{"n":"1"}},{"type":"ADDED","object":{"n":"2"}},{"type":"ADDED","object":{"n":"3"}}],"end":"open"}},
{"method":"GET","path":"/{{n}}"}`, server)
	for _, step := range result.Steps[:3] {
		if len(step.Differences) > 0 {
			t.Error(step.Describe("s"))
		}
	}
	if last := server.requests[len(server.requests)-1]; !strings.HasPrefix(last, "GET /3 ") {
		t.Errorf("what was captured of the stream did not arrive: %s", last)
	}
}

func TestWaitingForTooManyEventsFailsTheStep(t *testing.T) {
	server := &canned{answers: []cannedAnswer{{status: 200, headers: map[string]string{"Content-Type": "application/json"}, open: true}}}
	result := play(t, `{"method":"GET","path":"/","stream":{"background":"w","await":1}}`, server)
	if len(result.Steps[0].Differences) == 0 {
		t.Error("the step passed without its event")
	}
}
