package apiserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// listBody is a list in pieces, which are put together while it is written:
// those of the items are shared with other readers, so that a list costs little
// memory however long it is.
type listBody struct {
	head, tail []byte
	items      int
	// append appends what the item adds to the body. It does not fail: all that
	// can was done before.
	append func(dst []byte, i int) []byte
	size   int // about how many bytes it is
}

// streamThreshold is the size, in bytes, of a list that is written in pieces; a
// smaller one is sent in one piece that says its length.
const streamThreshold = 128 << 10

// sendItems writes a list.
func (e encoder) sendItems(w http.ResponseWriter, meta metav1.ListMeta, items []*cacher.Item) error {
	if err := e.checkTable(); err != nil {
		return err
	}
	list, err := e.list(meta, items)
	if err != nil {
		return err
	}
	contentType := e.out.format.String()
	if e.out.format == formatYAML || e.out.format == formatJSON && e.out.pretty {
		data, err := e.out.finish(e.listKind(), list.whole())
		if err != nil {
			return err
		}
		send(w, http.StatusOK, contentType, data)
		return nil
	}
	if e.out.format == formatJSON {
		list.tail = append(list.tail, '\n')
	}
	if list.size <= streamThreshold {
		send(w, http.StatusOK, contentType, list.whole())
		return nil
	}
	return list.stream(w, contentType)
}

// stream writes the list in pieces, compressed if the client accepts that.
func (l listBody) stream(w http.ResponseWriter, contentType string) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, private")
	if acceptsGzip(w) {
		compressed := beginGzip(w, http.StatusOK)
		defer compressed.close()
		return l.writeTo(compressed)
	}
	w.WriteHeader(http.StatusOK)
	return l.writeTo(w)
}

func (l listBody) whole() []byte {
	data := append(make([]byte, 0, l.size+64), l.head...)
	for i := range l.items {
		data = l.append(data, i)
	}
	return append(data, l.tail...)
}

// writeTo writes in pieces of a size that is worth a call.
func (l listBody) writeTo(w io.Writer) error {
	const piece = 32 << 10
	buffer := append(make([]byte, 0, 2*piece), l.head...)
	for i := range l.items {
		if buffer = l.append(buffer, i); len(buffer) >= piece {
			if _, err := w.Write(buffer); err != nil {
				return err
			}
			buffer = buffer[:0]
		}
	}
	_, err := w.Write(append(buffer, l.tail...))
	return err
}

// list prepares a list in the negotiated form.
func (e encoder) list(meta metav1.ListMeta, items []*cacher.Item) (listBody, error) {
	if e.out.as == tableForm {
		return e.tableList(meta, items)
	}
	bodies := make([][]byte, len(items))
	for i, item := range items {
		var err error
		if bodies[i], err = e.item(item); err != nil {
			return listBody{}, err
		}
	}
	if e.out.format == formatProtobuf {
		return e.protobufList(meta, bodies)
	}
	return e.jsonList(meta, bodies)
}

func (e encoder) tableList(meta metav1.ListMeta, items []*cacher.Item) (listBody, error) {
	columns, err := e.columns()
	if err != nil {
		return listBody{}, err
	}
	head, err := e.tableHead(meta, columns)
	if err != nil {
		return listBody{}, err
	}
	if len(items) == 0 && e.printer().nullRows {
		return listBody{head: append(bytes.TrimSuffix(head, []byte("[")), "null}"...), size: len(head)}, nil
	}
	list := listBody{head: head, tail: []byte("]}"), items: len(items), size: len(head)}
	rows := make([]row, len(items))
	for i, item := range items {
		if rows[i], err = e.itemRow(item); err != nil {
			return listBody{}, err
		}
		list.size += rows[i].size()
	}
	now := time.Now()
	list.append = func(dst []byte, i int) []byte {
		if i > 0 {
			dst = append(dst, ',')
		}
		return rows[i].append(dst, now)
	}
	return list, nil
}

// protobufList says the length of the list's message in front of it, so all
// sizes are summed up first.
func (e encoder) protobufList(meta metav1.ListMeta, bodies [][]byte) (listBody, error) {
	encoded, err := meta.Marshal()
	if err != nil {
		return listBody{}, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	message := appendField(nil, 1, encoded)
	size := len(message)
	for _, b := range bodies {
		size += fieldSize(len(b))
	}
	head := append(appendEnvelopeHead(nil, e.listKind(), size), message...)
	list := listBody{head: head, tail: envelopeTail, items: len(bodies), size: size + len(head)}
	list.append = func(dst []byte, i int) []byte { return appendField(dst, 2, bodies[i]) }
	return list, nil
}

// fieldSize is the size of what appendField appends for a small field number.
func fieldSize(length int) int {
	var varint [binary.MaxVarintLen64]byte
	return 1 + binary.PutUvarint(varint[:], uint64(length)) + length
}

// jsonList: objects in a list do not say of what kind they are, except the
// reduced ones.
func (e encoder) jsonList(meta metav1.ListMeta, bodies [][]byte) (listBody, error) {
	data, err := json.Marshal(meta)
	if err != nil {
		return listBody{}, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	head := append(kindPrefix(e.listKind()), `"metadata":`...)
	head = append(head, data...)
	if e.out.as == "" && e.resource.custom != nil && meta.Continue == "" {
		head = append(head[:len(head)-1], `,"continue":""}`...) // recorded: it is there even if empty
	}
	if len(bodies) == 0 && e.out.as != "" {
		return listBody{head: append(head, `,"items":null}`...), size: len(head)}, nil
	}
	head = append(head, `,"items":[`...)
	list := listBody{head: head, tail: []byte("]}"), items: len(bodies), size: len(head)}
	for _, b := range bodies {
		list.size += len(b) + 1
	}
	var strip []byte
	if e.out.as == "" && e.resource.custom == nil {
		strip = kindPrefix(e.kind())
	}
	list.append = func(dst []byte, i int) []byte {
		if i > 0 {
			dst = append(dst, ',')
		}
		body := bodies[i]
		if rest, ok := bytes.CutPrefix(body, strip); ok && strip != nil {
			dst, body = append(dst, '{'), rest
		}
		return append(dst, body...)
	}
	return list, nil
}
