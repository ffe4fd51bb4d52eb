package apiserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// tableForm is the value of "as" that asks for rows to be printed.
const tableForm = "Table"

// objectForms are what an object, or a list of them, can be had as.
var objectForms = []string{partialObject, partialList, tableForm}

// checkTable refuses an includeObject that does not exist.
func (e encoder) checkTable() error {
	known := []string{"", string(metav1.IncludeNone), string(metav1.IncludeMetadata), string(metav1.IncludeObject)}
	if e.out.as != tableForm || slices.Contains(known, e.out.include) {
		return nil
	}
	return apierrors.NewBadRequest(fmt.Sprintf(
		"Unable to convert to Table as requested: includeObject: Invalid value: %q: must be 'Metadata', 'Object', 'None', or empty",
		e.out.include))
}

// rowID is that of the cells of a row: they are the same in all versions of what
// is built in.
const rowID = "cells"

func (e encoder) rowID() string {
	if e.resource.custom != nil {
		return rowID + " " + e.resource.gvk.Version
	}
	return rowID
}

// printer prints the resource.
func (e encoder) printer() *printer {
	if e.resource.custom != nil {
		return e.resource.custom.printer
	}
	return printerOf(e.resource.stored.resource)
}

// cells encodes what of a row does not depend on the form of its object, with
// holes for ages.
func (e encoder) cells(obj runtime.Object) ([]byte, error) {
	p := e.printer()
	row, err := appendCells([]byte(`{"cells":`), p.cells(obj))
	if err != nil || p.conditions == nil {
		return row, err
	}
	if conditions := p.conditions(obj); len(conditions) > 0 {
		data, err := json.Marshal(conditions)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCodec, err)
		}
		row = append(append(row, `,"conditions":`...), data...)
	}
	return row, nil
}

// rowObject is the encoder of the object in a row; false if there is none.
func (e encoder) rowObject() (encoder, bool) {
	out := e.out
	switch metav1.IncludeObjectPolicy(e.out.include) {
	case metav1.IncludeNone:
		return e, false
	case metav1.IncludeObject:
		out.as = ""
	default:
		out.as = partialObject
	}
	return newEncoder(e.resource, out), true
}

// row is a row that is ready but for the ages in it: its cells and its object,
// both shared with other readers.
type row struct{ cells, object []byte }

func (r row) size() int { return len(r.cells) + len(r.object) + 32 }

func (r row) append(dst []byte, now time.Time) []byte {
	dst = appendFilled(dst, r.cells, now)
	dst = append(dst, `,"object":`...)
	return append(append(dst, r.object...), '}')
}

var nullObject = []byte("null")

// itemRow is the row of an item; what is encoded is kept with the item.
func (e encoder) itemRow(item *cacher.Item) (row, error) {
	cells, err := item.Encoded(e.rowID(), e.cells)
	if err != nil {
		return row{}, err
	}
	r := row{cells: cells, object: nullObject}
	if inner, ok := e.rowObject(); ok {
		r.object, err = inner.item(item)
	}
	return r, err
}

// objectRow is itemRow for an object that is not kept.
func (e encoder) objectRow(obj runtime.Object) (row, error) {
	cells, err := e.cells(obj)
	if err != nil {
		return row{}, err
	}
	r := row{cells: cells, object: nullObject}
	if inner, ok := e.rowObject(); ok {
		r.object, err = inner.body(obj)
	}
	return r, err
}

// tableHead is a Table up to its rows.
func (e encoder) tableHead(meta metav1.ListMeta, columns []byte) ([]byte, error) {
	data, err := json.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	head := append(kindPrefix(e.kind()), `"metadata":`...)
	head = append(append(head, data...), `,"columnDefinitions":`...)
	return append(append(head, columns...), `,"rows":[`...), nil
}

// table is a whole Table of one row.
func (e encoder) table(resourceVersion string, columns []byte, r row) ([]byte, error) {
	head, err := e.tableHead(metav1.ListMeta{ResourceVersion: resourceVersion}, columns)
	if err != nil {
		return nil, err
	}
	head = r.append(slices.Grow(head, r.size()), time.Now())
	return append(head, "]}"...), nil
}

// itemTable is the Table of one item, as get and watch send it.
func (e encoder) itemTable(item *cacher.Item, columns []byte) ([]byte, error) {
	r, err := e.itemRow(item)
	if err != nil {
		return nil, err
	}
	return e.table(strconv.FormatUint(item.ResourceVersion, 10), columns, r)
}

// objectTable is itemTable for an object that is not kept.
func (e encoder) objectTable(obj runtime.Object, columns []byte) ([]byte, error) {
	r, err := e.objectRow(obj)
	if err != nil {
		return nil, err
	}
	return e.table(metadataFrom(obj).GetResourceVersion(), columns, r)
}

// columnCache holds the encoded columns of printers: they never change.
var columnCache sync.Map // *printer to []byte

// columns are the encoded column definitions of the resource.
func (e encoder) columns() ([]byte, error) {
	p := e.printer()
	if known, ok := columnCache.Load(p); ok {
		return known.([]byte), nil
	}
	data, err := json.Marshal(p.columns)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	if e.resource.custom == nil { // others come and go
		columnCache.Store(p, data)
	}
	return data, nil
}
