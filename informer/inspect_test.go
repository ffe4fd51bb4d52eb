package informer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/reflector"
)

// get asks h as a browser does if html, else as curl does.
func get(t *testing.T, h http.Handler, target string, html bool) (code int, body string) {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, target, nil)
	request.Header.Set("Accept", "*/*")
	if html {
		request.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	return answer.Code, answer.Body.String()
}

func TestTheStatusHandlerAnswersInTheFormatThatIsWanted(t *testing.T) {
	for _, c := range []struct {
		asked  string
		accept []string
		format string
		code   int
	}{
		{"", nil, formatJSON, 200},
		{"", []string{"*/*"}, formatJSON, 200},
		{"", []string{"application/json"}, formatJSON, 200},
		{"", []string{"text/html"}, formatHTML, 200},
		{"", []string{"text/html,application/xhtml+xml,*/*;q=0.8"}, formatHTML, 200},
		{"", []string{"application/json, text/html;q=0.5"}, formatJSON, 200},
		{"", []string{"application/json;q=0.2", "text/html;q=0.5"}, formatHTML, 200},
		{"", []string{"text/html;q=0, application/*"}, formatJSON, 200},
		{"", []string{"image/png"}, "", 406},
		{"", []string{"text/html;q=0"}, "", 406},
		{"", []string{"text/html;q=x, */*"}, formatJSON, 200},
		{"json", []string{"text/html"}, formatJSON, 200},
		{"html", []string{"application/json"}, formatHTML, 200},
		{"yaml", nil, "", 400},
	} {
		if format, code := chooseFormat(c.asked, c.accept); format != c.format || code != c.code {
			t.Errorf("%q, %q: got %q %d, want %q %d", c.asked, c.accept, format, code, c.format, c.code)
		}
	}
}

func TestTheStatusHandlerShowsAllInformersOrOne(t *testing.T) {
	rigs(t, []string{"pods", "nodes"}, func(t *testing.T, r []*rig) {
		r[0].from.set("web/a")
		r[0].start()
		r[0].add(&recorder{})
		r[1].from.refuse(forbidden)
		r[1].start()
		r[0].from.cut()
		time.Sleep(time.Minute)
		h := StatusHandler(r[0], r[1])
		for target, want := range map[string]string{
			"/":                                  "pods[] nodes[]",
			"/?informer=nodes":                   "nodes[]",
			"/?informer=pods&key=web/a":          "pods[web/a:cached]",
			"/?key=web/a":                        "pods[web/a:cached] nodes[web/a:not synced]",
			"/anywhere/?informer=pods&key=a/b/c": "pods[a/b/c:invalid key]",
			"/?informer=pods&key=":               "pods[:invalid key]",
		} {
			code, body := get(t, h, target, false)
			if got := summary(t, body); code != http.StatusOK || got != want {
				t.Errorf("%s: %d %s, want %s", target, code, got, want)
			}
			code, body = get(t, h, target, true)
			if code != http.StatusOK || !strings.HasPrefix(body, "<!DOCTYPE html>") || !strings.HasSuffix(body, "</html>\n") {
				t.Errorf("%s as a page: %d %s", target, code, body)
			}
		}
		_, body := get(t, h, "/?informer=nodes", true)
		for _, part := range []string{"failed tries", "HTTP 403", "permission is missing (RBAC): verb &#34;list&#34;", "everything"} {
			if !strings.Contains(body, part) {
				t.Errorf("%q is missing in %s", part, body)
			}
		}
		_, body = get(t, h, "/?informer=pods", true)
		for _, part := range []string{"handler-1", "connection lost", "watching since", "initial: 1"} {
			if !strings.Contains(body, part) {
				t.Errorf("%q is missing in %s", part, body)
			}
		}
		if code, _ := get(t, h, "/?informer=jobs", true); code != http.StatusNotFound {
			t.Errorf("an unknown informer: %d", code)
		}
	})
}

// summary writes which informers and explanations an answer has.
func summary(t *testing.T, body string) string {
	t.Helper()
	var answer struct {
		Informers    []struct{ Name string }
		Explanations []struct{ Informer, Key, Verdict string }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var parts []string
	for _, one := range answer.Informers {
		var explained []string
		for _, e := range answer.Explanations {
			if e.Informer == one.Name {
				explained = append(explained, e.Key+":"+e.Verdict)
			}
		}
		parts = append(parts, one.Name+"["+strings.Join(explained, " ")+"]")
	}
	return strings.Join(parts, " ")
}

func TestTheStatusHandlerAnswersOnlyWhoReads(t *testing.T) {
	inf, err := New(newCollection(), Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	h := StatusHandler(inf)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch} {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(method, "/", nil))
		if answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d %v", method, answer.Code, answer.Header())
		}
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodHead, "/?format=html", nil))
	body, _ := io.ReadAll(answer.Body)
	if answer.Code != http.StatusOK || len(body) > 0 || answer.Header().Get("Content-Type") != "text/html; charset=utf-8" ||
		answer.Header().Get("Content-Length") == "0" {
		t.Errorf("HEAD: %d %v %q", answer.Code, answer.Header(), body)
	}
}

func TestThePageTrustsNobody(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	synctest.Test(t, func(t *testing.T) {
		from := newCollection()
		from.refuse(errors.New(evil))
		inf, err := New(from, Options[*thing]{Name: evil, Collection: reflector.Collection{Resource: evil, LabelSelector: evil}})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{Informer: inf, t: t, from: from}
		r.start()
		if _, err := r.AddHandler(&recorder{}, WithName(evil)); err != nil {
			t.Fatal(err)
		}
		escaped := "%22%3E%3Cscript%3Ealert(1)%3C/script%3E"
		for _, target := range []string{"/", "/?key=" + escaped, "/?informer=" + escaped + "&key=" + escaped} {
			code, body := get(t, StatusHandler(inf), target, true)
			if code != http.StatusOK || strings.Contains(body, "<script") {
				t.Errorf("%s: %d %s", target, code, body)
			}
		}
		if code, body := get(t, StatusHandler(), "/?informer="+escaped, true); code != http.StatusNotFound {
			t.Errorf("%d %s", code, body)
		}
		r.stop()
	})
}

func TestInformersMayComeAndGoOnThePage(t *testing.T) {
	var all []Inspectable
	h := StatusHandlerOf(func() []Inspectable { return all })
	for k := range 3 {
		if _, body := get(t, h, "/", false); strings.Count(summary(t, body), "[]") != k {
			t.Errorf("%d informers: %s", k, body)
		}
		inf, err := New(newCollection(), Options[*thing]{Name: fmt.Sprint("i", k)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, inf)
	}
}

func TestTroubleIsWhatIsWrongNow(t *testing.T) {
	failed := reflector.Status{Phase: reflector.BackingOff, Tries: 1, HTTPStatus: 403, LastVerb: "watch", LastError: forbidden}
	recovered := reflector.Status{Phase: reflector.Watching, Tries: 1, LastError: io.ErrUnexpectedEOF}
	healthy := reflector.Status{Phase: reflector.Watching, LastError: forbidden, HTTPStatus: 403}
	s := Status{
		Running: true, Parts: []PartStatus{{Name: "a", Reflector: failed}, {Name: "b", Reflector: recovered}, {Name: "c", Reflector: healthy}},
		Transform: TransformStatus{Standing: 2}, IndexErrors: []error{errors.New("boom")},
		Handlers: []HandlerStatus{{Name: "good"}, {Name: "h", Site: "x.go:1", Panics: 3}},
	}
	got := strings.Join(s.Trouble(), "\n")
	want := "not synced\n" +
		`a: 1 failed try, the last: HTTP 403 Forbidden: ` + forbidden.Error() + "\n" +
		`a: permission is missing (RBAC): verb "watch" on the informer's resource at the cluster scope` + "\n" +
		"the transform failed for 2 objects\nindex functions failed for objects, such as: boom\n" +
		`3 calls of handler "h" (x.go:1) panicked or ended their goroutine`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (Status{Parts: []PartStatus{{Reflector: healthy}}}).Trouble(); got != nil {
		t.Errorf("of a stopped one: %q", got)
	}
}

func TestNumbersOnThePageAreShort(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "123ns": 123, "12µs": 12345, "1.235ms": 1234567, "12ms": 12345678, "1.235s": 1234567891, "12s": 12345678912,
		"1m23s": 83 * time.Second, "1h30m0s": 90*time.Minute + 20*time.Second, "26h0m0s": 26 * time.Hour,
	} {
		if got := short(d); got != want {
			t.Errorf("%d: got %s, want %s", d, got, want)
		}
	}
	for want, n := range map[string]int64{"0 B": 0, "999 B": 999, "1.0 KiB": 1024, "10 KiB": 10240, "1.5 MiB": 3 << 19, "2048 TiB": 2 << 50} {
		if got := size(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
	now := time.Now()
	if got := ago(now, time.Time{}); got != "never" {
		t.Error(got)
	}
}
