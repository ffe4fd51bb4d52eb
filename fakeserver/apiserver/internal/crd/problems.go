package crd

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// problems are what a validator found, in the words of the API.
func problems(path *field.Path, found *validate.Result) field.ErrorList {
	var errs field.ErrorList
	for _, err := range found.Errors {
		invalid, ok := err.(*openapierrors.Validation)
		if !ok {
			errs = append(errs, field.Invalid(path, "", err.Error()))
			continue
		}
		errs = append(errs, problem(path, invalid))
	}
	return errs
}

func problem(path *field.Path, err *openapierrors.Validation) *field.Error {
	if name := strings.TrimPrefix(err.Name, "."); name != "" {
		path = path.Child(name)
	}
	value := err.Value
	if value == nil {
		value = ""
	}
	switch err.Code() {
	case openapierrors.RequiredFailCode:
		return field.Required(path, "")
	case openapierrors.EnumFailCode:
		return field.NotSupported(path, err.Value, texts(err.Values))
	case openapierrors.TooLongFailCode:
		return field.TooLong(path, "" /*unused*/, number(err.Valid))
	case openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode:
		return field.TooMany(path, number(err.Value), number(err.Valid))
	case openapierrors.InvalidTypeCode:
		return field.TypeInvalid(path, value, err.Error())
	}
	return field.Invalid(path, value, err.Error())
}

// texts are the values of an enumeration as they are named to a client.
func texts(values []any) []string {
	all := make([]string, 0, len(values))
	for _, value := range values {
		text, ok := value.(string)
		if !ok {
			data, err := json.Marshal(value)
			if err != nil {
				data = fmt.Append(nil, value)
			}
			text = string(data)
		}
		all = append(all, text)
	}
	return all
}

// number is a bound or a size; -1 if it is not known.
func number(value any) int {
	if n, ok := value.(int64); ok {
		return int(n)
	}
	return -1
}
