package informer

import (
	"reflect"
	"sync"
	"time"

	"github.com/listwatch/listwatch/indexer"
)

const (
	// sampleSize is the number of objects that are measured for an estimate.
	sampleSize = 32
	// sizeAge is for how long an estimate of the mean holds while the number of
	// objects stays about the same.
	sizeAge = 30 * time.Second
	// mapHeader is what a map needs besides its slots.
	mapHeader = 48
)

// sizer estimates what the objects of a cache need. It measures a few of them,
// and not each time it is asked. The zero value is usable.
type sizer[T Object] struct {
	mu     sync.Mutex // guards the rest
	mean   int64
	length int
	at     time.Time
}

// estimate returns the bytes of all objects of snapshot with their keys.
func (z *sizer[T]) estimate(snapshot *indexer.Snapshot[T]) int64 {
	n := snapshot.Len()
	if n == 0 {
		return 0
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if changed := n > z.length+z.length/4 || n < z.length-z.length/4; changed || z.mean == 0 || time.Since(z.at) > sizeAge {
		z.mean, z.length, z.at = meanSize(snapshot), n, time.Now()
	}
	return z.mean * int64(n)
}

func meanSize[T Object](snapshot *indexer.Snapshot[T]) int64 {
	var total, count int64
	for key, obj := range snapshot.Sample(sampleSize) {
		total += int64(len(key)) + indirect(reflect.ValueOf(obj))
		count++
	}
	return total / max(1, count)
}

// indirect is the number of bytes that v refers to, directly or not, without v
// itself. What is referred to twice counts twice. It does not know the size
// classes of the allocator, so it is somewhat low.
func indirect(v reflect.Value) int64 {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return int64(v.Type().Elem().Size()) + indirect(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return 0
		}
		if inner := v.Elem(); inner.Kind() != reflect.Pointer && inner.Kind() != reflect.Map {
			return int64(inner.Type().Size()) + indirect(inner)
		}
		return indirect(v.Elem())
	case reflect.Slice:
		return int64(v.Cap())*int64(v.Type().Elem().Size()) + indirectElements(v)
	case reflect.Array:
		return indirectElements(v)
	case reflect.Map:
		return indirectMap(v)
	case reflect.Struct:
		if v.Type() == timeType {
			return 0 // it refers to a time zone, which is everybody's
		}
		var total int64
		for k := range v.NumField() {
			total += indirect(v.Field(k))
		}
		return total
	}
	return 0
}

func indirectElements(v reflect.Value) int64 {
	var total int64
	switch v.Type().Elem().Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		for k := range v.Len() {
			total += indirect(v.Index(k))
		}
	}
	return total
}

func indirectMap(v reflect.Value) int64 {
	if v.IsNil() {
		return 0
	}
	t := v.Type()
	total := mapHeader + mapSlots(v.Len())*(int64(t.Key().Size())+int64(t.Elem().Size())+1)
	for entry := v.MapRange(); entry.Next(); {
		total += indirect(entry.Key()) + indirect(entry.Value())
	}
	return total
}

// mapSlots is for how many entries a map of n has room: groups of eight, a power
// of two of them, filled to seven eighths.
func mapSlots(n int) int64 {
	if n == 0 {
		return 0
	}
	slots := int64(8)
	for n > 8 && int64(n) > slots/8*7 {
		slots *= 2
	}
	return slots
}
