package crd_test

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/listwatch/listwatch/fakeserver/apiserver/internal/crd"
)

func TestCellsAreOfTheTypeOfTheirColumn(t *testing.T) {
	content := decode(t, `{"i":3,"f":1.5,"s":"text","b":true,"t":"2020-01-01T00:00:00Z","l":["x","y"],"o":{"k":"v"}}`)
	for _, test := range []struct {
		kind, path string
		want       any
	}{
		{"integer", ".i", int64(3)}, {"integer", ".f", int64(1)}, {"integer", ".s", nil}, {"integer", ".missing", nil},
		{"number", ".f", 1.5}, {"number", ".i", 3.0}, {"boolean", ".b", true}, {"boolean", ".s", nil},
		{"string", ".s", "text"}, {"string", ".l[*]", "x"}, {"string", ".o", `{"k":"v"}`}, {"string", ".i", "3"},
		{"date", ".t", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}, {"date", ".s", "<invalid>"}, {"date", ".i", nil},
	} {
		columns, err := crd.Columns([]apiextensionsv1.CustomResourceColumnDefinition{{Name: "C", Type: test.kind, JSONPath: test.path}})
		if err != nil {
			t.Fatal(err)
		}
		if got := columns[0].Cell(content); got != test.want {
			t.Errorf("%s as %s: got %v, want %v", test.path, test.kind, got, test.want)
		}
	}
	if columns, err := crd.Columns(nil); err != nil || len(columns) != 1 || columns[0].Definition.Name != "Age" {
		t.Errorf("no columns: %v, %v", columns, err)
	}
}
