package jsonfast

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/listwatch/listwatch/reflector/internal/parts"
)

// Sharer is a Decoder whose objects share their equal parts: what is behind a
// pointer, maps, slices, and longer strings. Objects must not be written to.
type Sharer struct {
	root  *node
	table *parts.Table
	usual parts.Usual
}

// Sharing returns a Sharer that remembers parts in table.
func (d *Decoder) Sharing(table *parts.Table) *Sharer { return &Sharer{root: d.root, table: table} }

// Decode is Decoder.Decode.
func (d *Sharer) Decode(data []byte, object any) error {
	containers := scratch.Get().(*[]container)
	defer scratch.Put(containers)
	if *containers = locate((*containers)[:0], data); *containers == nil {
		*containers = []container{}
		return errRefused
	}
	p := parser{data: data, texts: d.usual.Texts(len(data)), sharing: sharing{table: d.table, containers: *containers}}
	err := p.document(d.root, object)
	d.usual.Learn(len(data), &p.texts)
	return err
}

// scratch has memory for containers.
var scratch = sync.Pool{New: func() any { return new([]container) }}

// sharing is what a parser needs to share.
type sharing struct {
	table      *parts.Table // nil: nothing is shared
	part       bool         // what is read will be shared
	made       int          // bytes of memory referred to so far, but for texts in data
	containers []container
	opened     int // how many containers were
	base       int // of the parser's data in that of containers
}

// container is an object or array: where it ends, and how many begin before that.
type container struct{ end, next int32 }

// locate adds the containers in data, in the order of their beginnings; nil if they
// are not whole. What is in them is not checked.
func locate(all []container, data []byte) []container {
	inner := int32(-1) // the last that has begun and not ended; its end is that around it
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; ; i++ {
				if i = plain(data, min(i, len(data))); i == len(data) {
					return nil
				} else if data[i] == '"' {
					break
				} else if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			all = append(all, container{end: inner})
			inner = int32(len(all) - 1)
		case '}', ']':
			if inner < 0 {
				return nil
			}
			c := &all[inner]
			inner, c.end, c.next = c.end, int32(i+1), int32(len(all))
		}
	}
	if inner >= 0 || len(all) == 0 {
		return nil
	}
	return all
}

const (
	// shortest string that is worth looking for. Kubernetes' constants are shorter.
	shortest = 20
	// longest part that is worth remembering.
	longest = 32 << 10
	// inJSON is added to kinds, which protobuf has too.
	inJSON = 1
)

// kind is that of a node's parts; zero if they are not shared.
func (n *node) kind() uintptr {
	switch n.op {
	case opOther:
		if n.typ.Kind() != reflect.Map {
			return 0
		}
	case opPointer, opSlice, opStringMap, opQuantities, opString:
	default:
		return 0
	}
	return uintptr(reflect.ValueOf(n.typ).UnsafePointer()) + inJSON // types have even addresses
}

// share reads a value that may be shared and begins with c, a bracket or brace.
func (p *parser) share(n *node, at unsafe.Pointer, c byte) bool {
	if p.opened >= len(p.containers) {
		return false
	}
	here := p.containers[p.opened]
	end := int(here.end) - p.base
	if end > len(p.data) || end-p.i > longest {
		return p.plainly(n, at, c)
	}
	raw := p.data[p.i:end]
	part, key := p.table.Find(n.shared, raw)
	if part == nil {
		if p.part || !p.table.Again(key) {
			return p.plainly(n, at, c)
		}
		if part = p.remember(n, string(raw)); part == nil {
			return false
		}
		p.table.Add(key, part)
	}
	p.made += part.Size
	p.i, p.opened = end, int(here.next)
	if n.op == opSlice {
		*(*slice)(at) = slice{part.Value, part.Len, part.Len}
	} else {
		*(*unsafe.Pointer)(at) = part.Value
	}
	return true
}

// remember makes a part that can be kept alive without the object; nil if it is
// refused. Its own parts are shared if they are known, and counted all the same, as
// they may be forgotten before it; else they are not worth it beside the whole.
func (p *parser) remember(n *node, raw string) *parts.Part {
	inner := parser{data: unsafe.Slice(unsafe.StringData(raw), len(raw)), depth: p.depth, own: true, sharing: sharing{
		table: p.table, part: true, made: len(raw), containers: p.containers, opened: p.opened, base: p.base + p.i,
	}}
	var value slice // or its first word only
	if !inner.plainly(n, unsafe.Pointer(&value), raw[0]) || inner.i != len(raw) {
		return nil
	}
	return &parts.Part{Raw: raw, Value: value.data, Len: value.len, Size: inner.made}
}

// shareText reads a string that may be shared.
func (p *parser) shareText(n *node, at *string) (ok bool) {
	from := p.i
	inside, escaped, ok := p.string()
	if !ok || escaped || len(inside) < shortest || len(inside) > longest {
		p.i = from
		*at, ok = p.text()
		return ok
	}
	part, key := p.table.Find(n.shared, inside)
	switch {
	case part != nil:
		p.made += part.Size
		*at = part.Raw
	case p.part || !p.table.Again(key):
		*at = p.keep(inside)
	default:
		part = &parts.Part{Raw: string(inside), Size: len(inside)}
		p.table.Add(key, part)
		*at = part.Raw
	}
	return true
}
