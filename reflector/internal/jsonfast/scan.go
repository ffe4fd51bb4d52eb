package jsonfast

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"strconv"
	"unsafe"

	"github.com/listwatch/listwatch/reflector/internal/parts"
)

const (
	// maxDepth of values in values.
	maxDepth = 200
)

// parser reads one document. Its methods report false where it is refused.
type parser struct {
	data  []byte
	i     int // of the next byte
	depth int
	own   bool // the bytes are the object's: strings may be parts of them
	texts parts.Texts

	sharing
}

// space skips white space and returns the next byte; zero at the end.
func (p *parser) space() byte {
	for p.i < len(p.data) {
		switch c := p.data[p.i]; c {
		case ' ', '\n', '\r', '\t':
			p.i++
		default:
			return c
		}
	}
	return 0
}

// take skips white space and then c.
func (p *parser) take(c byte) bool {
	if p.space() != c {
		return false
	}
	p.i++
	return true
}

// literal skips a word.
func (p *parser) literal(word string) bool {
	if len(p.data)-p.i < len(word) || string(p.data[p.i:p.i+len(word)]) != word {
		return false
	}
	p.i += len(word)
	return true
}

// special are the bytes within a string that are not simply part of it.
var special = func() (table [256]bool) {
	for c := range 0x20 {
		table[c] = true
	}
	table['"'], table['\\'] = true, true
	return table
}()

const (
	ones = 0x0101010101010101
	high = 0x80 * ones
)

// plain returns the index of the first byte from i on that is special; len(data) if
// there is none. It looks at eight at a time: what is subtracted from a byte borrows
// from the next only if it was found.
func plain(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		quote, slash := w^'"'*ones, w^'\\'*ones
		if found := ((w-' '*ones)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & high; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(data) && !special[data[i]] {
		i++
	}
	return i
}

// string reads a string. inside is what is between its quotes; escaped says that
// this is to be unquoted.
func (p *parser) string() (inside []byte, escaped, ok bool) {
	if p.space() != '"' {
		return nil, false, false
	}
	data, begin := p.data, p.i+1
	for i := begin; ; i += 2 { // what is escaped is looked at when it is unquoted
		if i = plain(data, min(i, len(data))); i == len(data) {
			return nil, false, false
		}
		switch data[i] {
		case '"':
			p.i = i + 1
			return data[begin:i], escaped, true
		case '\\':
			escaped = true
		default:
			return nil, false, false
		}
	}
}

// text reads a string and keeps it.
func (p *parser) text() (string, bool) {
	begin := p.space()
	from := p.i
	inside, escaped, ok := p.string()
	if !ok || begin != '"' {
		return "", false
	}
	if escaped {
		var text string
		err := json.Unmarshal(p.data[from:p.i], &text)
		p.made += len(text)
		return text, err == nil
	}
	return p.keep(inside), true
}

// keep returns a string that may be kept.
func (p *parser) keep(text []byte) string {
	switch {
	case len(text) == 0:
		return ""
	case !p.own:
		text = p.texts.Keep(text)
	}
	return unsafe.String(&text[0], len(text))
}

// integer reads a number without a fraction or an exponent.
func (p *parser) integer(least, most int64) (int64, bool) {
	negative := p.space() == '-'
	if negative {
		p.i++
	}
	begin, value := p.i, uint64(0)
	for ; p.i < len(p.data) && p.data[p.i]-'0' <= 9; p.i++ {
		if value > math.MaxInt64/10 {
			return 0, false
		}
		value = value*10 + uint64(p.data[p.i]-'0')
	}
	digits := p.i - begin
	if digits == 0 || digits > 1 && p.data[begin] == '0' || value > math.MaxInt64 {
		return 0, false
	}
	if p.i < len(p.data) && (p.data[p.i] == '.' || p.data[p.i]|0x20 == 'e') {
		return 0, false
	}
	number := int64(value)
	if negative {
		number = -number
	}
	return number, number >= least && number <= most
}

// raw skips a value of any type, and returns it.
func (p *parser) raw() ([]byte, bool) {
	p.space()
	from := p.i
	if !p.skip() {
		return nil, false
	}
	return p.data[from:p.i], true
}

// skip checks and skips a value.
func (p *parser) skip() bool {
	switch c := p.space(); c {
	case '"':
		return p.skipString()
	case '{':
		return p.each('}', func() bool { return p.skipString() && p.take(':') && p.skip() })
	case '[':
		return p.each(']', p.skip)
	case 't':
		return p.literal("true")
	case 'f':
		return p.literal("false")
	case 'n':
		return p.literal("null")
	}
	return p.number()
}

// skipString checks and skips a string.
func (p *parser) skipString() bool {
	inside, escaped, ok := p.string()
	if !ok || !escaped {
		return ok
	}
	for i := 0; i < len(inside); i++ {
		if inside[i] != '\\' {
			continue
		}
		i++ // of what stands there, as string knows
		switch inside[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			if len(inside)-i < 5 {
				return false
			}
			if _, err := strconv.ParseUint(string(inside[i+1:i+5]), 16, 16); err != nil {
				return false
			}
			i += 4
		default:
			return false
		}
	}
	return true
}

// number checks and skips a number.
func (p *parser) number() bool {
	from := p.i
	for p.i < len(p.data) {
		switch c := p.data[p.i]; c {
		case '+', '-', '.', 'e', 'E', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			p.i++
			continue
		}
		break
	}
	return p.i > from && json.Valid(p.data[from:p.i])
}

// each reads the elements of an object or array up to its end.
func (p *parser) each(end byte, element func() bool) bool {
	p.i++ // the opening
	p.opened++
	if p.depth++; p.depth > maxDepth {
		return false
	}
	if p.space() == end {
		p.i++
		p.depth--
		return true
	}
	for {
		p.space()
		if !element() {
			return false
		}
		switch p.space() {
		case ',':
			p.i++
		case end:
			p.i++
			p.depth--
			return true
		default:
			return false
		}
	}
}
