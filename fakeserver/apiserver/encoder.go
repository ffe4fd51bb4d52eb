package apiserver

import (
	"bytes"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// encoder writes stored objects of one resource in one form.
type encoder struct {
	resource *resource
	out      output
	id       string // of the encoding, for cacher.Item
}

func newEncoder(r *resource, out output) encoder {
	f := out.format
	if f == formatYAML {
		f = formatJSON // YAML is made from the whole answer
	}
	e := encoder{resource: r, out: out}
	if out.as == "" {
		e.id = f.String() + " " + r.gvk.GroupVersion().String()
	} else {
		e.id = f.String() + " " + out.metaKind(partialObject).GroupVersion().String()
	}
	return e
}

// kind is what every single object says it is. A Table is one even if it is a
// list.
func (e encoder) kind() schema.GroupVersionKind {
	switch e.out.as {
	case "":
		return e.resource.gvk
	case tableForm:
		return e.out.metaKind(tableForm)
	}
	return e.out.metaKind(partialObject)
}

func (e encoder) listKind() schema.GroupVersionKind {
	switch e.out.as {
	case "":
		return e.resource.listKind()
	case tableForm:
		return e.out.metaKind(tableForm)
	}
	return e.out.metaKind(partialList)
}

// body encodes an object of the stored kind, see encodeBody.
func (e encoder) body(obj runtime.Object) ([]byte, error) {
	if e.out.as != "" {
		partial, err := metadataOf(obj)
		if err != nil {
			return nil, err
		}
		return encodeBody(partial, e.kind(), e.out.format)
	}
	converted, err := e.resource.show(obj)
	if err != nil {
		return nil, err
	}
	return encodeBody(converted, e.resource.gvk, e.out.format)
}

// item is body, kept with the item for the next reader.
func (e encoder) item(i *cacher.Item) ([]byte, error) { return i.Encoded(e.id, e.body) }

// finish turns a body, or the JSON of a list, into a whole answer.
func (o output) finish(gvk schema.GroupVersionKind, body []byte) ([]byte, error) {
	switch {
	case o.format == formatProtobuf:
		return appendEnvelope(nil, gvk, body), nil
	case o.format == formatYAML:
		return yaml.JSONToYAML(body)
	case o.pretty:
		var indented bytes.Buffer
		if err := json.Indent(&indented, body, "", "  "); err != nil {
			return nil, err
		}
		return indented.Bytes(), nil
	}
	return append(bytes.Clone(body), '\n'), nil
}
