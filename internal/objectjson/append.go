package objectjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Append appends the JSON of an object to dst. Errors are those of encoding/json.
func Append(dst []byte, obj runtime.Object) ([]byte, error) {
	if marked, raws := mark(obj); len(raws) > 0 {
		return splice(dst, marked, raws)
	}
	body, err := json.Marshal(obj)
	return append(dst, body...), err
}

// key and marker stand in the JSON of a marked object where managed fields go.
// Before those, typed objects have nothing that could look the same.
const (
	key    = `"fieldsV1":`
	marker = `-0`
)

var markerFields = metav1.NewFieldsV1(marker)

// mark returns a copy of obj that has the marker for each set of managed fields,
// and these. It returns none of those if there are none, or if they are not
// plain.
func mark(obj runtime.Object) (runtime.Object, [][]byte) {
	typed, ok := obj.(metav1.ObjectMetaAccessor) // others may share their metadata with a shallow copy
	if !ok {
		return nil, nil
	}
	entries := typed.GetObjectMeta().GetManagedFields()
	raws := make([][]byte, 0, len(entries))
	for i := range entries {
		if entries[i].FieldsV1 == nil {
			continue
		}
		raw := entries[i].FieldsV1.GetRawBytes()
		if !plain(raw) {
			return nil, nil
		}
		raws = append(raws, raw)
	}
	if len(raws) == 0 {
		return nil, nil
	}
	copied := reflect.New(reflect.TypeOf(obj).Elem())
	copied.Elem().Set(reflect.ValueOf(obj).Elem())
	entries = slices.Clone(entries)
	for i := range entries {
		if entries[i].FieldsV1 != nil {
			entries[i].FieldsV1 = markerFields
		}
	}
	copied.Interface().(metav1.ObjectMetaAccessor).GetObjectMeta().SetManagedFields(entries)
	return copied.Interface().(runtime.Object), raws
}

// buffers hold the JSON of marked objects.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// bufferKept is the size, in bytes, up to which a buffer is kept.
const bufferKept = 64 << 10

// splice appends the JSON of a marked object with raws in the places of the
// markers.
func splice(dst []byte, marked runtime.Object, raws [][]byte) ([]byte, error) {
	buffer := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buffer.Cap() <= bufferKept {
			buffer.Reset()
			buffers.Put(buffer)
		}
	}()
	if err := json.NewEncoder(buffer).Encode(marked); err != nil {
		return dst, err
	}
	body := bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
	size := len(body)
	for _, raw := range raws {
		size += len(raw)
	}
	dst = slices.Grow(dst, size)
	for _, raw := range raws {
		before, after, _ := bytes.Cut(body, []byte(key+marker))
		dst = append(dst, before...)
		dst = append(dst, key...)
		dst = append(dst, raw...)
		body = after
	}
	return append(dst, body...), nil
}
