package apiserver

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// printer makes the rows of a Table of one resource.
type printer struct {
	columns []metav1.TableColumnDefinition
	// cells are string, bool, int64, nil, age or mixed, one for each column.
	cells func(obj runtime.Object) []any
	// conditions are nil for most.
	conditions func(obj runtime.Object) []metav1.TableRowCondition
	// nullRows: no rows are null, not an empty list. Recorded of kinds that no
	// printer of kubectl's knows.
	nullRows bool
}

// printerOf returns what prints a stored resource.
func printerOf(gr schema.GroupResource) *printer {
	if p, ok := printers[gr]; ok {
		return p
	}
	return defaultPrinter
}

var printers = mergePrinters(corePrinters, workloadPrinters, networkPrinters, storagePrinters, policyPrinters, definitionPrinters)

func mergePrinters(all ...map[schema.GroupResource]*printer) map[schema.GroupResource]*printer {
	merged := map[schema.GroupResource]*printer{}
	for _, some := range all {
		for gr, p := range some {
			merged[gr] = p
		}
	}
	return merged
}

// defaultPrinter prints what has no columns of its own.
var defaultPrinter = &printer{
	columns: []metav1.TableColumnDefinition{
		nameColumn,
		{Name: "Created At", Type: "date", Description: objectDoc["creationTimestamp"]},
	},
	cells: func(obj runtime.Object) []any {
		m := metadataFrom(obj)
		return []any{m.GetName(), m.GetCreationTimestamp().UTC().Format("2006-01-02T15:04:05Z")}
	},
}

// printing makes the printer of a typed kind. Its cells are empty for an object
// of another kind, which is not stored under the resource.
func printing[T runtime.Object](cells func(T) []any, columns ...metav1.TableColumnDefinition) *printer {
	return &printer{columns: columns, cells: func(obj runtime.Object) []any {
		typed, ok := obj.(T)
		if !ok {
			return make([]any, len(columns))
		}
		return cells(typed)
	}}
}

// named is printing for the usual case: the name first and the age last, before
// the columns that are shown only when wide ones were asked for.
func named[T object](cells func(T) []any, columns ...metav1.TableColumnDefinition) *printer {
	narrow := 0
	for narrow < len(columns) && columns[narrow].Priority == 0 {
		narrow++
	}
	all := append([]metav1.TableColumnDefinition{nameColumn}, columns[:narrow]...)
	all = append(append(all, ageColumn), columns[narrow:]...)
	return printing(func(obj T) []any {
		some := cells(obj)
		row := append(make([]any, 0, len(all)), obj.GetName())
		row = append(append(row, some[:narrow]...), createdAge(obj))
		return append(row, some[narrow:]...)
	}, all...)
}

// object is what all printed kinds are.
type object interface {
	runtime.Object
	metav1.Object
}

// metadataFrom is an object's metadata, empty for what has none.
func metadataFrom(obj runtime.Object) metav1.Object {
	if m, ok := obj.(metav1.Object); ok {
		return m
	}
	return &metav1.ObjectMeta{}
}

var (
	objectDoc  = metav1.ObjectMeta{}.SwaggerDoc()
	nameColumn = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: objectDoc["name"]}
	ageColumn  = text("Age", objectDoc["creationTimestamp"])
)

func text(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}
}

func number(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "integer", Description: description}
}

func truth(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "boolean", Description: description}
}

// wide marks a column that clients show only when asked for more.
func wide(column metav1.TableColumnDefinition) metav1.TableColumnDefinition {
	column.Priority = 1
	return column
}
