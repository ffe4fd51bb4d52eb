package jsonfast

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/listwatch/listwatch/reflector/internal/parts"
)

// Unstructured decodes an object without a Go type: into maps, slices, strings,
// booleans, nil, and numbers that are int64 where they are written as integers,
// else float64.
func Unstructured(data []byte) (map[string]any, error) {
	p := parser{data: data, texts: (&parts.Usual{}).Texts(len(data))}
	if !utf8.Valid(data) || p.space() != '{' {
		return nil, errRefused
	}
	value, ok := p.loose()
	if !ok || p.space() != 0 || p.i != len(data) {
		return nil, errRefused
	}
	return value.(map[string]any), nil
}

// loose reads a value of any type.
func (p *parser) loose() (value any, ok bool) {
	switch p.space() {
	case '{':
		members := map[string]any{}
		return members, p.each('}', func() bool {
			key, ok := p.text()
			if !ok || !p.take(':') {
				return false
			}
			members[key], ok = p.loose()
			return ok
		})
	case '[':
		list := []any{}
		ok = p.each(']', func() bool {
			element, ok := p.loose()
			list = append(list, element)
			return ok
		})
		return list, ok
	case '"':
		return p.text()
	case 't':
		return true, p.literal("true")
	case 'f':
		return false, p.literal("false")
	case 'n':
		return nil, p.literal("null")
	}
	from := p.i
	if whole, ok := p.integer(math.MinInt64, math.MaxInt64); ok {
		return whole, true
	}
	p.i = from
	if !p.number() {
		return nil, false
	}
	text := string(p.data[from:p.i])
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return nil, false // not as we read it
	}
	fraction, err := strconv.ParseFloat(text, 64)
	return fraction, err == nil
}
