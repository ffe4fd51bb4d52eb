package arrays

import (
	"reflect"
	"sync/atomic"
	"unsafe"
)

// short is the length up to which array types are made: each is a type of its
// own, and stays for ever.
const short = 16

// Maker makes arrays of one element type.
type Maker struct {
	elem  reflect.Type
	slice reflect.Type
	types [short + 1]atomic.Pointer[reflect.Type]
}

// Of returns a Maker for the elements of a slice type.
func Of(slice reflect.Type) *Maker { return &Maker{elem: slice.Elem(), slice: slice} }

// Make returns the memory of n elements.
func (m *Maker) Make(n int) unsafe.Pointer {
	if n > short {
		return reflect.MakeSlice(m.slice, n, n).UnsafePointer()
	}
	array := m.types[n].Load()
	if array == nil {
		made := reflect.ArrayOf(n, m.elem)
		array = &made
		m.types[n].Store(array)
	}
	return reflect.New(*array).UnsafePointer()
}
