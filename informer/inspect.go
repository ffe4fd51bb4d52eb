package informer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Inspectable is what StatusHandler and metrics look at: any Informer.
type Inspectable interface {
	// Name is the informer's.
	Name() string
	// Status is a picture of it, taken in microseconds.
	Status() Status
	// Explain says why a key is in the cache or not.
	Explain(key string) Explanation
}

// StatusHandler serves the Status of the informers, as JSON or as a page:
//
//	/                          all informers
//	/?informer=pods            one of them, in detail
//	/?informer=pods&key=ns/web Explain of a key; without informer, of all
//	/?format=json              JSON whatever Accept says; or format=html
//
// It answers GET and HEAD. A page is given to whoever accepts text/html expressly,
// as browsers do, JSON to everybody else: {"informers": [Status…],
// "explanations": [Explanation…]}. The page loads nothing from elsewhere and
// works under any path. It shows names, keys and messages of the server, but no
// objects; there is no authentication, so serve it where /metrics is served.
func StatusHandler(informers ...Inspectable) http.Handler {
	informers = slices.Clone(informers)
	return StatusHandlerOf(func() []Inspectable { return informers })
}

// StatusHandlerOf is StatusHandler for informers that come and go: list is called
// for each request, concurrently.
func StatusHandlerOf(list func() []Inspectable) http.Handler { return statusHandler{list: list} }

type statusHandler struct{ list func() []Inspectable }

// inspection is an answer.
type inspection struct {
	Informers    []Status
	Explanations []Explanation
}

// ServeHTTP implements http.Handler.
func (h statusHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Vary", "Accept")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "GET and HEAD only", http.StatusMethodNotAllowed)
		return
	}
	query := r.URL.Query()
	format, code := chooseFormat(query.Get("format"), r.Header.Values("Accept"))
	if code != http.StatusOK {
		http.Error(w, "there is text/html and application/json (?format=html, ?format=json)", code)
		return
	}
	view := page{Informer: query.Get("informer"), Key: query.Get("key")}
	for _, one := range h.list() {
		view.Names = append(view.Names, one.Name())
		if query.Has("informer") && one.Name() != view.Informer {
			continue
		}
		view.Informers = append(view.Informers, one.Status())
		if query.Has("key") {
			view.Explanations = append(view.Explanations, one.Explain(view.Key))
		}
	}
	if query.Has("informer") && len(view.Informers) == 0 {
		http.Error(w, fmt.Sprintf("there is no informer %q", view.Informer), http.StatusNotFound)
		return
	}
	var body bytes.Buffer
	if err := view.write(&body, format); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	header.Set("Content-Type", format+"; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body.Bytes()) // who has gone needs no answer
	}
}

const (
	formatHTML = "text/html"
	formatJSON = "application/json"
)

// chooseFormat returns one of the formats, and 200; or 400 for one that does not
// exist, 406 if none is accepted.
func chooseFormat(asked string, accept []string) (format string, code int) {
	switch asked {
	case "json":
		return formatJSON, http.StatusOK
	case "html":
		return formatHTML, http.StatusOK
	case "":
	default:
		return "", http.StatusBadRequest
	}
	if len(accept) == 0 {
		return formatJSON, http.StatusOK
	}
	html := quality(accept, "text/html", "application/xhtml+xml", "text/*")
	other := quality(accept, "application/json", "application/*", "*/*")
	switch {
	case html > 0 && html >= other:
		return formatHTML, http.StatusOK
	case other > 0:
		return formatJSON, http.StatusOK
	}
	return "", http.StatusNotAcceptable
}

// quality is the highest q in Accept headers of any of the types.
func quality(accept []string, types ...string) float64 {
	best := 0.0
	for _, part := range strings.Split(strings.Join(accept, ","), ",") {
		name, parameters, err := mime.ParseMediaType(part)
		if err != nil || !slices.Contains(types, name) {
			continue
		}
		q := 1.0
		if text, given := parameters["q"]; given {
			if q, err = strconv.ParseFloat(text, 64); err != nil || !(q <= 1) {
				continue
			}
		}
		best = max(best, q)
	}
	return best
}

// write writes the answer in a format.
func (p page) write(body *bytes.Buffer, format string) error {
	if format == formatHTML {
		return pageTemplate.Execute(body, p)
	}
	text, err := viewJSON(p.inspection)
	if err != nil {
		return err
	}
	return json.Indent(body, text, "", "  ")
}
