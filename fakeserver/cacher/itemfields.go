package cacher

import (
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// itemFields is what field selectors see of an object, beside its name and
// namespace. Most versions are never asked for more than the trigger field, so
// the others are looked up when somebody asks.
type itemFields struct {
	options *Options // nil: the object has no fields
	trigger string

	once sync.Once
	set  fields.Set
}

// prepare finds the trigger field of obj: without Options.Trigger, among all
// the others.
func (f *itemFields) prepare(obj runtime.Object, o *Options) {
	f.options = o
	switch {
	case o.TriggerField == "":
	case o.Trigger != nil:
		f.trigger = o.Trigger(obj)
	default:
		f.trigger = f.all(obj)[o.TriggerField]
	}
}

// all returns the fields, looking them up at the first call.
func (f *itemFields) all(obj runtime.Object) fields.Set {
	if f.options != nil && f.options.Fields != nil {
		f.once.Do(func() { f.set = f.options.Fields(obj) })
	}
	return f.set
}

// selectable is an Item as a field selector sees it.
type selectable Item

// Has says whether the object has a field.
func (s *selectable) Has(field string) bool {
	switch field {
	case "metadata.name":
		return true
	case "metadata.namespace":
		return s.Namespace != ""
	}
	return s.fields.all(s.Object).Has(field)
}

// Get returns the value of a field, "" if there is none.
func (s *selectable) Get(field string) string {
	switch field {
	case "metadata.name":
		return s.Name
	case "metadata.namespace":
		return s.Namespace
	}
	if s.fields.options != nil && field == s.fields.options.TriggerField {
		return s.fields.trigger
	}
	return s.fields.all(s.Object)[field]
}
