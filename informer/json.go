package informer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// MarshalJSON writes everything in s, by one rule for all of it, so that the names
// are stable and nothing is forgotten: a field has its Go name with a small first
// letter; a duration is in seconds and its name ends in Seconds; an error is its
// text; a phase is its name; times that are zero and errors that are nil are left
// out. There is no way back: it is for people and for programs that look.
func (s Status) MarshalJSON() ([]byte, error) { return viewJSON(s) }

var (
	errorType    = reflect.TypeFor[error]()
	stringerType = reflect.TypeFor[fmt.Stringer]()
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
)

// viewJSON writes v by the rule of Status.MarshalJSON.
func viewJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := writeJSON(&b, reflect.ValueOf(v)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeJSON(b *bytes.Buffer, v reflect.Value) error {
	if !v.IsValid() {
		b.WriteString("null")
		return nil
	}
	t := v.Type()
	switch {
	case t == timeType:
		return writeLeaf(b, v.Interface().(time.Time).UTC())
	case t == durationType:
		return writeLeaf(b, v.Interface().(time.Duration).Seconds())
	case t.Implements(errorType) && !isNilValue(v):
		return writeLeaf(b, v.Interface().(error).Error())
	case t.Implements(stringerType) && t.Kind() != reflect.Struct && !isNilValue(v):
		return writeLeaf(b, v.Interface().(fmt.Stringer).String())
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		return writeJSON(b, v.Elem()) // of nil: not valid
	case reflect.Struct:
		b.WriteByte('{')
		err := writeFields(b, v)
		b.WriteByte('}')
		return err
	case reflect.Slice, reflect.Array:
		return writeList(b, v)
	case reflect.Map:
		return writeMap(b, v)
	}
	return writeLeaf(b, v.Interface())
}

// isNilValue is IsNil for every kind.
func isNilValue(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return v.IsNil()
	}
	return false
}

func writeLeaf(b *bytes.Buffer, v any) error {
	text, err := json.Marshal(v)
	b.Write(text)
	return err
}

func writeFields(b *bytes.Buffer, v reflect.Value) error {
	for k := range v.NumField() {
		field, value := v.Type().Field(k), v.Field(k)
		absent := field.Type == timeType && value.IsZero() || field.Type == errorType && value.IsNil()
		if !field.IsExported() || absent {
			continue
		}
		name := jsonName(field.Name)
		if field.Type == durationType {
			name += "Seconds"
		}
		if err := writeMember(b, name, value); err != nil {
			return err
		}
	}
	return nil
}

// writeMember writes a name and value, after a comma if it is not the first.
func writeMember(b *bytes.Buffer, name string, value reflect.Value) error {
	if b.Bytes()[b.Len()-1] != '{' {
		b.WriteByte(',')
	}
	if err := writeLeaf(b, name); err != nil {
		return err
	}
	b.WriteByte(':')
	return writeJSON(b, value)
}

func writeList(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('[')
	for k := range v.Len() {
		if k > 0 {
			b.WriteByte(',')
		}
		if err := writeJSON(b, v.Index(k)); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// writeMap writes a map from a kind of string.
func writeMap(b *bytes.Buffer, v reflect.Value) error {
	members := map[string]reflect.Value{}
	for member := v.MapRange(); member.Next(); {
		members[member.Key().String()] = member.Value()
	}
	b.WriteByte('{')
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := writeMember(b, name, members[name]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// jsonName is a field's name with its first word in small letters: HTTPStatus
// becomes httpStatus.
func jsonName(name string) string {
	letters := []rune(name)
	for k := range letters {
		if !unicode.IsUpper(letters[k]) || k > 0 && k+1 < len(letters) && unicode.IsLower(letters[k+1]) {
			return strings.ToLower(string(letters[:k])) + string(letters[k:])
		}
	}
	return strings.ToLower(name)
}
