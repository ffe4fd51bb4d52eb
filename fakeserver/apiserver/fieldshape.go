package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// What the creator of an object manages depends on which fields there are, not
// on what is in them, except for what elements of lists are told apart by. Many
// objects are made alike, such as the pods of one template, and finding out is
// the longest part of a creation; so it is kept by the shape of the object.

// fieldShape is an object's JSON without the values of its fields. Values in
// lists are kept: they may be keys of elements.
type fieldShape string

// maxShapes bounds what is kept for one kind; when there is more, it starts
// anew.
const maxShapes = 256

// shapes are the fields by shape, for one kind.
type shapes struct {
	mu     sync.Mutex
	fields map[fieldShape]*metav1.FieldsV1 // nil: none
}

// shapesOf holds a *shapes for each tracking, as trackers does.
var shapesOf sync.Map

func (s *shapes) get(shape fieldShape) (fields *metav1.FieldsV1, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fields, known = s.fields[shape]
	return fields, known
}

func (s *shapes) put(shape fieldShape, fields *metav1.FieldsV1) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fields == nil || len(s.fields) >= maxShapes {
		s.fields = map[fieldShape]*metav1.FieldsV1{}
	}
	s.fields[shape] = fields
}

// trackNew is trackFields for an object that is being created: after is it as
// the kind that was asked for, and target gets the managed fields.
func trackNew(t tracking, after, target runtime.Object, manager string) error {
	accessor, sent, err := accessors(target, after)
	if err != nil {
		return err
	}
	empty, err := t.empty()
	if err != nil {
		return err
	}
	if len(sent.GetManagedFields()) > 0 || t.custom != nil { // a PUT says who manages what it creates
		return trackFields(t, empty, after, target, manager)
	}
	data, err := json.Marshal(after)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCodec, err)
	}
	found, ok := shapesOf.Load(t)
	if !ok {
		found, _ = shapesOf.LoadOrStore(t, &shapes{})
	}
	known := found.(*shapes)
	shape := shapeOf(data)
	if fields, ok := known.get(shape); ok {
		accessor.SetManagedFields(newEntries(t, fields, manager))
		return nil
	}
	if err := trackFields(t, empty, after, target, manager); err != nil {
		return err
	}
	switch entries := accessor.GetManagedFields(); len(entries) {
	case 0:
		known.put(shape, nil)
	case 1:
		known.put(shape, entries[0].FieldsV1.DeepCopy())
	}
	return nil
}

// newEntries are the managed fields of an object that manager creates.
func newEntries(t tracking, fields *metav1.FieldsV1, manager string) []metav1.ManagedFieldsEntry {
	if fields == nil {
		return nil
	}
	at := now()
	return []metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: t.kind.GroupVersion().String(),
		Time: &at, FieldsType: "FieldsV1", FieldsV1: fields.DeepCopy(), Subresource: t.subresource,
	}}
}

// shapeOf reads compact, valid JSON.
func shapeOf(data []byte) fieldShape {
	shape := make([]byte, 0, len(data))
	lists := 0
	for i := 0; i < len(data); {
		switch c := data[i]; c {
		case '[', ']':
			if c == '[' {
				lists++
			} else {
				lists--
			}
			shape = append(shape, c)
			i++
		case '{', '}', ',', ':':
			shape = append(shape, c)
			i++
		default:
			end := i + scalarLength(data[i:])
			isKey := end < len(data) && data[end] == ':'
			switch {
			case lists > 0 || isKey || c == 'n': // null
				shape = append(shape, data[i:end]...)
			default:
				shape = append(shape, '.')
			}
			i = end
		}
	}
	return fieldShape(shape)
}

// scalarLength is the length of the string, number or word that data begins
// with.
func scalarLength(data []byte) int {
	if data[0] != '"' {
		if end := bytes.IndexAny(data, ",]}"); end > 0 {
			return end
		}
		return len(data)
	}
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}
