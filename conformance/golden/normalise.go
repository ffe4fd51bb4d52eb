package golden

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// adapter makes answers comparable: the rules of one step, around what is
// normalised in every answer.
type adapter struct {
	ignore, any, mask, pick []Rule
}

// newAdapter collects the rules that hold for a step.
func newAdapter(scenario *Scenario, step *Step, ignoreManagedFields bool) adapter {
	a := adapter{any: step.Any, mask: step.Mask, pick: step.Pick}
	if !step.Full {
		a.ignore = append(a.ignore, scenario.Ignore...)
	}
	a.ignore = append(a.ignore, step.Ignore...)
	if ignoreManagedFields {
		a.ignore = append(a.ignore, Rule{path: path{{kind: deep}, {kind: byKey, name: "managedFields"}}})
	}
	return a
}

// adapt applies pick, the general normalisation, ignore, any and mask, in this
// order, to a body or to the object of an event. It changes the value.
func (a adapter) adapt(value any) any {
	for _, rule := range a.pick {
		value = rule.path.edit(value, func(v any) (any, bool) { return rule.choose(v), true })
	}
	value = normalise(value)
	if !isStatus(value) {
		for _, rule := range a.ignore {
			value = rule.path.edit(value, func(any) (any, bool) { return nil, false })
		}
	}
	for _, rule := range a.any {
		value = rule.path.edit(value, func(any) (any, bool) { return anything, true })
	}
	for _, rule := range a.mask {
		value = rule.path.edit(value, func(v any) (any, bool) { return rule.hide(v), true })
	}
	return value
}

// choose keeps of a list the elements, of an object the keys that pick names.
func (r Rule) choose(value any) any {
	switch value := value.(type) {
	case []any:
		return slices.DeleteFunc(value, func(element any) bool {
			if r.Key != nil {
				object, _ := element.(map[string]any)
				element = object[*r.Key]
			}
			return element == nil || !slices.Contains(r.Values, text(element))
		})
	case map[string]any:
		for key := range value {
			if !slices.Contains(r.Values, key) {
				delete(value, key)
			}
		}
	}
	return value
}

// hide replaces what mask matches in a string, or in the strings directly at
// the path.
func (r Rule) hide(value any) any {
	if s, ok := value.(string); ok {
		return r.regex.ReplaceAllString(s, r.With)
	}
	return value
}

func isStatus(value any) bool {
	object, ok := value.(map[string]any)
	return ok && object["kind"] == "Status"
}

// normalise does what every answer needs.
func normalise(value any) any {
	switch value := value.(type) {
	case string:
		return normaliseMessage(value)
	case []any:
		for i := range value {
			value[i] = normalise(value[i])
		}
	case map[string]any:
		for key, child := range value {
			value[key] = normalise(child)
			switch key {
			case "metadata":
				decodeContinue(child)
			case "managedFields":
				sortManagedFields(child)
			}
		}
	}
	return value
}

var (
	schemeInMessage = regexp.MustCompile(`in scheme "[^"]*"`)
	objectInMessage = regexp.MustCompile(`Invalid value: "\{\\"apiVersion\\":(?:[^"\\]|\\.)*"`)
)

// normaliseMessage hides what depends on the build and the whole object that
// some messages quote.
func normaliseMessage(message string) string {
	if strings.Contains(message, "in scheme ") {
		message = schemeInMessage.ReplaceAllLiteralString(message, `in scheme "<scheme>"`)
	}
	if strings.Contains(message, "Invalid value: ") {
		message = objectInMessage.ReplaceAllLiteralString(message, `Invalid value: "<object>"`)
	}
	return message
}

// decodeContinue replaces the continue token in the metadata of a list by its
// content.
func decodeContinue(metadata any) {
	object, ok := metadata.(map[string]any)
	if !ok {
		return
	}
	token, ok := object["continue"].(string)
	if !ok || token == "" {
		return
	}
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(token, "="))
	if err != nil {
		return
	}
	decoded, err := decode(data)
	content, ok := decoded.(map[string]any)
	if err != nil || !ok {
		return
	}
	if rv, ok := content["rv"].(json.Number); ok {
		content["rv"] = rv.String()
	}
	if start, ok := content["start"].(string); ok {
		content["start"] = strings.TrimPrefix(start, "/")
	}
	object["continue"] = map[string]any{"$continue": content}
}

// sortManagedFields removes the times, and the order that depends on them.
func sortManagedFields(value any) {
	entries, ok := value.([]any)
	if !ok {
		return
	}
	for _, entry := range entries {
		if object, ok := entry.(map[string]any); ok {
			delete(object, "time")
		}
	}
	slices.SortStableFunc(entries, func(a, b any) int {
		x, _ := a.(map[string]any)
		y, _ := b.(map[string]any)
		for _, key := range []string{"operation", "manager", "subresource", "apiVersion"} {
			if c := cmp.Compare(optional(x[key]), optional(y[key])); c != 0 {
				return c
			}
		}
		return 0
	})
}

func optional(value any) string {
	if value == nil {
		return ""
	}
	return text(value)
}
