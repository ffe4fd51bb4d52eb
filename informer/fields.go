package informer

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// maxFields bounds the paths that changedFields returns.
const maxFields = 8

// changedFields returns the paths of what differs between two states of one
// object, sorted, in the names of its JSON; none if they are equal. Fields of
// types that hide them, such as times and quantities, have the path of the whole.
func changedFields(was, is any) []string {
	if reflect.DeepEqual(was, is) {
		return nil
	}
	c := comparison{}
	a, isContent := was.(unstructuredContent)
	b, _ := is.(unstructuredContent)
	if isContent && b != nil {
		c.compare("", reflect.ValueOf(a.UnstructuredContent()), reflect.ValueOf(b.UnstructuredContent()))
	} else {
		c.compare("", reflect.ValueOf(was), reflect.ValueOf(is))
	}
	slices.Sort(c.fields)
	return c.fields
}

// unstructuredContent is what unstructured objects have.
type unstructuredContent interface {
	UnstructuredContent() map[string]any
}

// comparison collects the paths of differences.
type comparison struct{ fields []string }

func (c *comparison) differ(path string) {
	if path == "" {
		path = "the whole object"
	}
	if len(c.fields) < maxFields && !slices.Contains(c.fields, path) {
		c.fields = append(c.fields, path)
	}
}

func (c *comparison) compare(path string, a, b reflect.Value) {
	if a.IsValid() != b.IsValid() || a.IsValid() && a.Type() != b.Type() {
		c.differ(path)
		return
	}
	switch a.Kind() {
	case reflect.Invalid:
	case reflect.Pointer, reflect.Interface:
		c.compareReferred(path, a, b)
	case reflect.Struct:
		for k := range a.NumField() {
			c.compare(joinField(path, a.Type().Field(k)), a.Field(k), b.Field(k))
		}
	case reflect.Slice, reflect.Array:
		c.compareList(path, a, b)
	case reflect.Map:
		c.compareMap(path, a, b)
	default:
		if !sameLeaf(a, b) {
			c.differ(path)
		}
	}
}

func (c *comparison) compareReferred(path string, a, b reflect.Value) {
	switch {
	case a.IsNil() && b.IsNil(), a.Kind() == reflect.Pointer && a.Pointer() == b.Pointer():
	case a.IsNil() || b.IsNil():
		c.differ(path)
	default:
		c.compare(path, a.Elem(), b.Elem())
	}
}

func (c *comparison) compareList(path string, a, b reflect.Value) {
	if a.Kind() == reflect.Slice && a.IsNil() != b.IsNil() || a.Len() != b.Len() {
		c.differ(path)
		return
	}
	for k := range a.Len() {
		c.compare(fmt.Sprintf("%s[%d]", path, k), a.Index(k), b.Index(k))
	}
}

func (c *comparison) compareMap(path string, a, b reflect.Value) {
	if a.IsNil() != b.IsNil() {
		c.differ(path)
		return
	}
	content := a.Type().Key().Kind() == reflect.String && a.Type().Elem().Kind() == reflect.Interface
	for entry := a.MapRange(); entry.Next(); {
		c.compare(joinKey(path, entry.Key(), content), entry.Value(), b.MapIndex(entry.Key()))
	}
	for entry := b.MapRange(); entry.Next(); {
		if !a.MapIndex(entry.Key()).IsValid() {
			c.differ(joinKey(path, entry.Key(), content))
		}
	}
}

// sameLeaf compares values without parts. Not a number is the same as itself.
func sameLeaf(a, b reflect.Value) bool {
	switch {
	case a.CanInt():
		return a.Int() == b.Int()
	case a.CanUint():
		return a.Uint() == b.Uint()
	case a.CanFloat():
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	}
	switch a.Kind() {
	case reflect.String:
		return a.String() == b.String()
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Complex64, reflect.Complex128:
		return a.Complex() == b.Complex()
	}
	return a.Pointer() == b.Pointer() // functions, channels
}

// joinField is the path of a field of what is at path.
func joinField(path string, field reflect.StructField) string {
	tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case !field.IsExported(), tag == "" && (field.Anonymous || options == "inline"):
		return path
	case tag == "" || tag == "-":
		tag = jsonName(field.Name)
	}
	return strings.TrimPrefix(path+"."+tag, ".")
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// joinKey is the path of an entry of a map; content says that the map stands for
// an object.
func joinKey(path string, key reflect.Value, content bool) string {
	name := fmt.Sprint(key)
	if content && plainName.MatchString(name) {
		return strings.TrimPrefix(path+"."+name, ".")
	}
	return path + "[" + name + "]"
}
