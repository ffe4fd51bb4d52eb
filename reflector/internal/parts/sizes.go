package parts

import (
	"math/bits"
	"reflect"
	"time"
	"unsafe"
)

const (
	// mapHead is what a map takes besides its slots, mapGroup how many it has at least.
	mapHead, mapGroup = 88, 8
	// largestInMap is the largest key or value that lies in a slot itself.
	largestInMap = 128
)

// MapSize is how many bytes a map takes that has so many entries, without what these
// refer to.
func MapSize(entries int, key, value uintptr) int {
	slots, slot, apart := mapGroup, 1, 0
	if entries > mapGroup { // at most seven of eight slots are used
		slots = 1 << bits.Len(uint((entries*8+6)/7-1))
	}
	for _, size := range []uintptr{key, value} {
		if size > largestInMap {
			apart += entries * int(size)
			size = unsafe.Sizeof(size)
		}
		slot += int(size)
	}
	return mapHead + slots*slot + apart
}

// enough is where SizeBehind stops: what is larger goes in circles, or is too large
// for all but the largest Tables.
const enough = 16 << 20

// SizeBehind is how many bytes of memory a value refers to, besides its own. It is
// for what types made that decode themselves.
func SizeBehind(value reflect.Value) int {
	size := 0
	addBehind(&size, value)
	return size
}

func addBehind(size *int, v reflect.Value) {
	if *size > enough {
		return
	}
	switch v.Kind() {
	case reflect.String:
		*size += v.Len()
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			*size += int(v.Elem().Type().Size())
			addBehind(size, v.Elem())
		}
	case reflect.Slice:
		*size += v.Cap() * int(v.Type().Elem().Size())
		addElements(size, v)
	case reflect.Array:
		addElements(size, v)
	case reflect.Map:
		if !v.IsNil() {
			*size += MapSize(v.Len(), v.Type().Key().Size(), v.Type().Elem().Size())
		}
		for entries := v.MapRange(); entries.Next(); {
			addBehind(size, entries.Key())
			addBehind(size, entries.Value())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() { // refers to its zone, which all share
			return
		}
		for i := range v.NumField() {
			addBehind(size, v.Field(i))
		}
	}
}

// addElements adds what elements refer to; numbers to nothing.
func addElements(size *int, v reflect.Value) {
	if kind := v.Type().Elem().Kind(); kind <= reflect.Complex128 {
		return
	}
	for i := range v.Len() {
		addBehind(size, v.Index(i))
	}
}
