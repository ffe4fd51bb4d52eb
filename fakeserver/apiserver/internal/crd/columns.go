package crd

import (
	"bytes"
	"fmt"
	"reflect"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/jsonpath"
)

// Column is one column of the Table of a version, beside the name.
type Column struct {
	Definition metav1.TableColumnDefinition

	mu   sync.Mutex // guards path, which keeps state while it searches
	path *jsonpath.JSONPath
}

// Columns are those that a version defines, or the age. Errors wrap ErrSchema.
func Columns(defined []apiextensionsv1.CustomResourceColumnDefinition) ([]*Column, error) {
	if len(defined) == 0 {
		defined = []apiextensionsv1.CustomResourceColumnDefinition{{
			Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp",
			Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
		}}
	}
	columns := make([]*Column, 0, len(defined))
	for _, d := range defined {
		path := jsonpath.New(d.Name).AllowMissingKeys(true)
		if err := path.Parse("{" + d.JSONPath + "}"); err != nil {
			return nil, fmt.Errorf("%w: column %s: %w", ErrSchema, d.Name, err)
		}
		if d.Description == "" {
			d.Description = "Custom resource definition column (in JSONPath format): " + d.JSONPath
		}
		columns = append(columns, &Column{path: path, Definition: metav1.TableColumnDefinition{
			Name: d.Name, Type: d.Type, Format: d.Format, Description: d.Description, Priority: d.Priority,
		}})
	}
	return columns, nil
}

// Cell is what the column shows of an object: a string, bool, int64, float64 or
// time.Time, or nil if there is nothing, or nothing of the column's type.
func (c *Column) Cell(content map[string]any) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, err := c.path.FindResults(content)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	value := found[0][0].Interface() // the first: so a real server was recorded
	if c.Definition.Type == "string" {
		var text bytes.Buffer
		if err := c.path.PrintResults(&text, []reflect.Value{reflect.ValueOf(value)}); err != nil {
			return nil
		}
		return text.String()
	}
	return c.typed(value)
}

func (c *Column) typed(value any) any {
	switch v := value.(type) {
	case bool:
		if c.Definition.Type == "boolean" {
			return v
		}
	case int64:
		switch c.Definition.Type {
		case "integer":
			return v
		case "number":
			return float64(v)
		}
	case float64:
		switch c.Definition.Type {
		case "integer":
			return int64(v)
		case "number":
			return v
		}
	case string:
		if c.Definition.Type != "date" {
			return nil
		}
		at, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return "<invalid>"
		}
		return at
	}
	return nil
}
