package jsonfast

import (
	"encoding/base64"
	"errors"
	"math"
	"reflect"
	"time"
	"unicode/utf8"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/reflector/internal/parts"
)

// errRefused: another decoder knows why, or does not mind.
var errRefused = errors.New("JSON object is refused")

// Decode decodes data into object, a pointer to a new object of the Decoder's
// type. After an error the object is of no use.
func (d *Decoder) Decode(data []byte, object any) error {
	p := parser{data: data, texts: d.usual.Texts(len(data))}
	err := p.document(d.root, object)
	d.usual.Learn(len(data), &p.texts)
	return err
}

// document reads all of the data.
func (p *parser) document(root *node, object any) error {
	if !utf8.Valid(p.data) || p.space() != '{' || !p.value(root, reflect.ValueOf(object).UnsafePointer()) || p.space() != 0 || p.i != len(p.data) {
		return errRefused
	}
	return nil
}

// value reads a value into at, which is zero.
func (p *parser) value(n *node, at unsafe.Pointer) (ok bool) {
	c := p.space()
	if n.shared != 0 && p.table != nil {
		if c == '{' || c == '[' {
			return p.share(n, at, c)
		} else if n.op == opString && c == '"' {
			return p.shareText(n, (*string)(at))
		}
	}
	return p.plainly(n, at, c)
}

// plainly is value for one that begins with c, and is not shared.
func (p *parser) plainly(n *node, at unsafe.Pointer, c byte) (ok bool) {
	switch {
	case n.op == opOther:
		raw, ok := p.raw()
		ok = ok && n.other(at, raw) == nil
		if p.part {
			p.made += parts.SizeBehind(reflect.NewAt(n.typ, at).Elem())
		}
		return ok
	case c == 'n':
		return p.literal("null")
	}
	switch n.op {
	case opBool:
		*(*bool)(at) = c == 't'
		return c == 't' && p.literal("true") || p.literal("false")
	case opInt32:
		number, ok := p.integer(math.MinInt32, math.MaxInt32)
		*(*int32)(at) = int32(number)
		return ok
	case opInt64:
		*(*int64)(at), ok = p.integer(math.MinInt64, math.MaxInt64)
		return ok
	case opString:
		*(*string)(at), ok = p.text()
		return ok
	case opBytes:
		*(*[]byte)(at), ok = p.base64()
		return ok
	case opTime:
		return p.time((*metav1.Time)(at))
	case opRaw:
		raw, ok := p.raw()
		if !p.own {
			raw = p.texts.Keep(raw)
		}
		*(*[]byte)(at) = raw
		return ok
	case opPointer:
		p.made += int(n.elem.size)
		pointed := reflect.New(n.elem.typ).UnsafePointer()
		*(*unsafe.Pointer)(at) = pointed
		return p.value(n.elem, pointed)
	}
	return p.container(n, at, c)
}

// container reads an object or array that begins with c.
func (p *parser) container(n *node, at unsafe.Pointer, c byte) (ok bool) {
	if n.op == opSlice {
		return c == '[' && p.slice(n, at)
	}
	if c != '{' {
		return false
	}
	switch n.op {
	case opStruct:
		return p.object(n, at)
	case opStringMap:
		entries := map[string]string{}
		*(*map[string]string)(at) = entries
		ok = p.each('}', func() bool {
			key, ok := p.text()
			if !ok || !p.take(':') {
				return false
			}
			if p.space() == 'n' {
				entries[key] = ""
				return p.literal("null")
			}
			entries[key], ok = p.text()
			return ok
		})
		p.made += parts.MapSize(len(entries), unsafe.Sizeof(""), unsafe.Sizeof(""))
		return ok
	case opQuantities:
		entries := map[string]resource.Quantity{}
		*(*map[string]resource.Quantity)(at) = entries
		ok = p.each('}', func() bool {
			key, ok := p.text()
			if !ok || !p.take(':') {
				return false
			}
			raw, ok := p.raw()
			var amount resource.Quantity
			if !ok || amount.UnmarshalJSON(raw) != nil {
				return false
			}
			if p.part {
				p.made += parts.SizeBehind(reflect.ValueOf(&amount).Elem())
			}
			entries[key] = amount
			return true
		})
		p.made += parts.MapSize(len(entries), unsafe.Sizeof(""), quantity.Size())
		return ok
	}
	return false
}

// object reads a struct. Servers write the members in the order of the fields, so
// that each is looked for behind the one before.
func (p *parser) object(n *node, at unsafe.Pointer) bool {
	var seen [maxFields / 64]uint64
	following := 0
	return p.each('}', func() bool {
		name, escaped, ok := p.string()
		if !ok || escaped || !p.take(':') {
			return false
		}
		found := n.find(name, following)
		if found < 0 {
			return p.skip()
		}
		bit := uint64(1) << (found % 64)
		if seen[found/64]&bit != 0 {
			return false
		}
		seen[found/64] |= bit
		following = found + 1
		f := &n.fields[found]
		return p.value(f.node, unsafe.Add(at, f.offset))
	})
}

// find returns the index of a field, or -1. It is probably not far behind from.
func (n *node) find(name []byte, from int) int {
	for i := from; i < len(n.fields); i++ {
		if n.fields[i].name == string(name) {
			return i
		}
	}
	for i := range min(from, len(n.fields)) {
		if n.fields[i].name == string(name) {
			return i
		}
	}
	return -1
}

// slice is how a slice lies in memory.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// slice reads an array. The slices of one field have mostly the same length in
// all objects.
func (p *parser) slice(n *node, at unsafe.Pointer) bool {
	list := (*slice)(at)
	list.data = unsafe.Pointer(&empty)
	usual := int(n.usual.Load())
	ok := p.each(']', func() bool {
		if list.len == list.cap {
			n.resize(list, max(1, usual, 2*list.cap))
		}
		list.len++
		return p.value(n.elem, unsafe.Add(list.data, uintptr(list.len-1)*n.elem.size))
	})
	if list.len != usual {
		n.usual.Store(int32(min(list.len, maxUsual)))
		if list.len < list.cap {
			n.resize(list, list.len)
		}
	}
	p.made += list.cap * int(n.elem.size)
	return ok
}

// maxUsual bounds what is made for a slice before its elements are seen.
const maxUsual = 64

// empty is what slices without elements point to.
var empty [0]byte

// resize moves the elements of a slice to memory for as many as room.
func (n *node) resize(list *slice, room int) {
	moved := slice{data: unsafe.Pointer(&empty), len: list.len, cap: room}
	if room > 0 {
		moved.data = n.arrays.Make(room)
	}
	if list.len > 0 {
		reflect.Copy(reflect.NewAt(n.typ, unsafe.Pointer(&moved)).Elem(), reflect.NewAt(n.typ, unsafe.Pointer(list)).Elem())
	}
	*list = moved
}

// time reads a time as its own method does, which asks encoding/json for the string.
// A pod has a dozen of them.
func (p *parser) time(at *metav1.Time) bool {
	text, escaped, ok := p.string()
	if !ok || escaped || len(text) == 0 {
		return false
	}
	parsed, err := time.Parse(time.RFC3339, unsafe.String(&text[0], len(text))) // keeps no text unless it fails
	at.Time = parsed.Local()
	return err == nil
}

// base64 reads bytes.
func (p *parser) base64() ([]byte, bool) {
	text, escaped, ok := p.string()
	if !ok || escaped {
		return nil, false
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	p.made += len(data)
	size, err := base64.StdEncoding.Decode(data, text)
	return data[:size], err == nil
}
