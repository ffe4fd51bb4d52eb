package golden

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// largestExpansion bounds what one text may grow to, in bytes.
const largestExpansion = 16 << 20

// templateName tells templates from text that happens to hold two braces.
var templateName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(:|$)`)

// variables are the captured values of a scenario.
type variables map[string]any

// expand replaces the templates in a text. Errors wrap ErrTemplate.
func (v variables) expand(text string) (string, error) {
	return v.replace(text, func(s string) string { return s })
}

// expandJSON replaces the templates in JSON, where they stand in strings.
func (v variables) expandJSON(json string) (string, error) {
	return v.replace(json, func(s string) string {
		quoted := encode(s)
		return quoted[1 : len(quoted)-1]
	})
}

func (v variables) replace(text string, quote func(string) string) (string, error) {
	var expanded strings.Builder
	for {
		before, after, found := strings.Cut(text, "{{")
		inner, rest, closed := strings.Cut(after, "}}")
		if !found || !closed {
			expanded.WriteString(text)
			break
		}
		expanded.WriteString(before)
		if !templateName.MatchString(inner) {
			expanded.WriteString("{{")
			text = after
			continue
		}
		value, raw, err := v.value(inner)
		if err != nil {
			return "", err
		}
		if !raw {
			value = quote(value)
		}
		expanded.WriteString(value)
		if expanded.Len() > largestExpansion {
			return "", fmt.Errorf("%w: more than %d bytes", ErrTemplate, largestExpansion)
		}
		text = rest
	}
	return expanded.String(), nil
}

// value is what one template stands for; raw if it needs no quoting, because it
// was part of the text already.
func (v variables) value(template string) (value string, raw bool, err error) {
	name, rest, hasArguments := strings.Cut(template, ":")
	if !hasArguments {
		captured, ok := v[name]
		if !ok {
			return "", false, fmt.Errorf("%w: {{%s}} was not captured", ErrTemplate, name)
		}
		return text(captured), false, nil
	}
	first, second, _ := strings.Cut(rest, ":")
	switch name {
	case "token":
		value, err = v.token(first, second)
	case "add":
		value, err = v.add(first, second)
	case "repeat":
		value, err = repeat(first, second)
		raw = true
	default:
		err = fmt.Errorf("%w: {{%s:…}} is unknown", ErrTemplate, name)
	}
	return value, raw, err
}

// number is a number, or the variable that holds it.
func (v variables) number(digits string) (int64, error) {
	if captured, ok := v[digits]; ok {
		digits = text(captured)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %q is neither a number nor a variable that holds one", ErrTemplate, digits)
	}
	return n, nil
}

func (v variables) add(name, summand string) (string, error) {
	base, err := v.number(name)
	if err != nil {
		return "", err
	}
	n, err := strconv.ParseInt(summand, 10, 64)
	if err != nil {
		return "", fmt.Errorf("%w: {{add:%s:%s}}: %w", ErrTemplate, name, summand, err)
	}
	return strconv.FormatInt(base+n, 10), nil
}

// token makes a continue token by hand.
func (v variables) token(rv, start string) (string, error) {
	n, err := v.number(rv)
	if err != nil {
		return "", err
	}
	token, err := json.Marshal(struct {
		Version string `json:"v"`
		RV      int64  `json:"rv"`
		Start   string `json:"start"`
	}{"meta.k8s.io/v1", n, start})
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrTemplate, err)
	}
	return base64.RawURLEncoding.EncodeToString(token), nil
}

func repeat(count, text string) (string, error) {
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || len(text) > 0 && n > largestExpansion/len(text) {
		return "", fmt.Errorf("%w: cannot repeat %q times", ErrTemplate, count)
	}
	return strings.Repeat(text, n), nil
}
