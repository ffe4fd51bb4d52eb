package apiserver

import (
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

var statusKind = schema.GroupVersionKind{Version: "v1", Kind: "Status"}

// negotiateFor is negotiate with what the request says elsewhere about form.
func negotiateFor(r *http.Request, forms ...string) (output, error) {
	out, err := negotiate(r.Header.Get("Accept"), forms...)
	if err != nil {
		return out, err
	}
	query := r.URL.Query()
	out.include = query.Get("includeObject")
	switch query.Get("pretty") {
	case "1", "true":
		out.pretty = true
	case "":
		agent := r.UserAgent()
		for _, human := range []string{"curl", "Wget", "Mozilla/5.0"} {
			out.pretty = out.pretty || strings.HasPrefix(agent, human)
		}
	}
	return out, nil
}

// negotiate is negotiateFor, without the format that custom objects do not have.
func (q *request) negotiate(forms ...string) (output, error) {
	accept := q.Header.Get("Accept")
	if q.resource.custom == nil || !strings.Contains(accept, formatProtobuf.String()) {
		return negotiateFor(q.Request, forms...)
	}
	var possible []string
	for element := range strings.SplitSeq(accept, ",") {
		if !strings.Contains(element, formatProtobuf.String()) || strings.Contains(element, "as=") {
			possible = append(possible, element)
		}
	}
	if len(possible) == 0 {
		return output{}, errMediaRange()
	}
	r := q.Request.Clone(q.Context())
	r.Header.Set("Accept", strings.Join(possible, ","))
	return negotiateFor(r, forms...)
}

// send writes a whole answer, which nobody may cache.
func send(w http.ResponseWriter, code int, contentType string, data []byte) {
	sendAs(w, code, contentType, "no-cache, private", data)
}

func sendAs(w http.ResponseWriter, code int, contentType, caching string, data []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", caching)
	if len(data) > gzipThreshold && acceptsGzip(w) {
		compressed := beginGzip(w, code)
		defer compressed.close()
		_, _ = compressed.Write(data)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(code)
	_, _ = w.Write(data) // the reader is gone: nobody is left to be told
}

// sendObject writes an object of kind gvk that is no stored one.
func sendObject(w http.ResponseWriter, out output, code int, gvk schema.GroupVersionKind, obj runtime.Object) error {
	out.as = ""
	body, err := encodeBody(obj, gvk, out.format)
	if err != nil {
		return err
	}
	data, err := out.finish(gvk, body)
	if err != nil {
		return err
	}
	send(w, code, out.format.String(), data)
	return nil
}

// sendStored writes an object of the stored kind.
func (e encoder) sendStored(w http.ResponseWriter, code int, obj runtime.Object) error {
	if err := e.checkTable(); err != nil {
		return err
	}
	body, err := e.whole(obj)
	if err != nil {
		return err
	}
	return e.sendBody(w, code, body)
}

// whole is body, or the Table of one row.
func (e encoder) whole(obj runtime.Object) ([]byte, error) {
	if e.out.as != tableForm {
		return e.body(obj)
	}
	columns, err := e.columns()
	if err != nil {
		return nil, err
	}
	return e.objectTable(obj, columns)
}

// sendItem writes an object that is kept.
func (e encoder) sendItem(w http.ResponseWriter, item *cacher.Item) error {
	var body []byte
	err := e.checkTable()
	switch {
	case err != nil:
	case e.out.as == tableForm:
		var columns []byte
		if columns, err = e.columns(); err == nil {
			body, err = e.itemTable(item, columns)
		}
	default:
		body, err = e.item(item)
	}
	if err != nil {
		return err
	}
	return e.sendBody(w, http.StatusOK, body)
}

func (e encoder) sendBody(w http.ResponseWriter, code int, body []byte) error {
	data, err := e.out.finish(e.kind(), body)
	if err != nil {
		return err
	}
	send(w, code, e.out.format.String(), data)
	return nil
}

// sendError writes err as a Status, in the format that the request accepts if
// it accepts any.
func sendError(w http.ResponseWriter, r *http.Request, err error) {
	out, negotiateErr := negotiateFor(r, objectForms...)
	if negotiateErr != nil {
		out = output{}
	}
	status := statusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	if err := sendObject(w, out, int(status.Code), statusKind, &status); err != nil {
		send(w, http.StatusInternalServerError, "text/plain;charset=utf-8", []byte(err.Error()+"\n"))
	}
}

// sendText answers where no API is.
func sendText(w http.ResponseWriter, code int, text string) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	send(w, code, "text/plain;charset=utf-8", []byte(text))
}

func sendNotFound(w http.ResponseWriter) { sendText(w, http.StatusNotFound, "404 page not found\n") }
