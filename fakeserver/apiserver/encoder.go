package apiserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
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

// kind is what every single object says it is.
func (e encoder) kind() schema.GroupVersionKind {
	if e.out.as == "" {
		return e.resource.gvk
	}
	return e.out.metaKind(partialObject)
}

func (e encoder) listKind() schema.GroupVersionKind {
	if e.out.as == "" {
		return e.resource.gvk.GroupVersion().WithKind(e.resource.gvk.Kind + "List")
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
	converted, err := convert(obj, e.resource.stored.gvk, e.resource.gvk)
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

// list puts the bodies of items together. Objects in a list do not say of what
// kind they are, except the reduced ones.
func (e encoder) list(meta metav1.ListMeta, bodies [][]byte) ([]byte, error) {
	if e.out.format == formatProtobuf {
		head, err := meta.Marshal()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCodec, err)
		}
		size := len(head) + 16
		for _, b := range bodies {
			size += len(b) + 8
		}
		message := appendField(make([]byte, 0, size), 1, head)
		for _, b := range bodies {
			message = appendField(message, 2, b)
		}
		return appendEnvelope(make([]byte, 0, len(message)+128), e.listKind(), message), nil
	}
	data, err := e.jsonList(meta, bodies)
	if err != nil {
		return nil, err
	}
	if e.out.format == formatYAML || e.out.pretty {
		return e.out.finish(e.listKind(), data)
	}
	return append(data, '\n'), nil
}

func (e encoder) jsonList(meta metav1.ListMeta, bodies [][]byte) ([]byte, error) {
	head, err := json.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	size := len(head) + 128
	for _, b := range bodies {
		size += len(b) + 1
	}
	var strip []byte
	if e.out.as == "" {
		strip = kindPrefix(e.kind())
	}
	data := append(make([]byte, 0, size), kindPrefix(e.listKind())...)
	data = append(data, `"metadata":`...)
	data = append(data, head...)
	if len(bodies) == 0 && e.out.as != "" {
		return append(data, `,"items":null}`...), nil
	}
	data = append(data, `,"items":[`...)
	for i, b := range bodies {
		if i > 0 {
			data = append(data, ',')
		}
		if rest, ok := bytes.CutPrefix(b, strip); ok && strip != nil {
			data = append(data, '{')
			b = rest
		}
		data = append(data, b...)
	}
	return append(data, `]}`...), nil
}

// writeEvent writes one frame of a watch. gvk and body are those of the object;
// the frame is one Write, so that it is never cut by another's.
func (o output) writeEvent(w io.Writer, t watch.EventType, gvk schema.GroupVersionKind, body []byte) error {
	var frame []byte
	if o.format == formatProtobuf {
		object := appendEnvelope(make([]byte, 0, len(body)+128), gvk, body)
		raw := appendField(nil, 1, object)
		frame = make([]byte, 4, len(raw)+32)
		frame = appendField(frame, 1, []byte(t))
		frame = appendField(frame, 2, raw)
		binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	} else {
		frame = append(make([]byte, 0, len(body)+40), `{"type":"`...)
		frame = append(frame, t...)
		frame = append(frame, `","object":`...)
		frame = append(frame, body...)
		frame = append(frame, "}\n"...)
	}
	_, err := w.Write(frame)
	return err
}
