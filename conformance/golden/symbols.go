package golden

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// anything is the symbol for any value at all.
const anything = "<any>"

// symbol matches the symbols within a recorded string.
var symbol = regexp.MustCompile(`<(?:(uid|rv|rand):(\d+)(\+?)|rv:(same|any)|(time|microtime|age))>`)

// The values that symbols stand for.
const (
	uidPattern       = `([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})`
	numberPattern    = `([0-9]+)`
	randPattern      = `([a-z0-9]{5})`
	timePattern      = `([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)`
	microtimePattern = `([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z)`
	agePattern       = `((?:[0-9]+[ydhms])+)`
)

// observation is a value that stood where a symbol was recorded.
type observation struct {
	kind  string // uid, rv or rand
	n     int    // the number of the symbol
	plus  bool   // <rv:N+>
	same  bool   // <rv:same>
	value string
	path  string
}

func (o observation) symbol() string {
	plus := ""
	if o.plus {
		plus = "+"
	}
	return fmt.Sprintf("<%s:%d%s>", o.kind, o.n, plus)
}

// matchSymbols matches a string against a recorded one and returns what stood
// for its symbols, without those that may be anything of their form.
func matchSymbols(want, got string) ([]observation, bool) {
	found := symbol.FindAllStringSubmatchIndex(want, -1)
	if found == nil {
		return nil, want == got
	}
	var pattern strings.Builder
	var seen []observation
	pattern.WriteString("(?s)^")
	end := 0
	for _, m := range found {
		pattern.WriteString(regexp.QuoteMeta(want[end:m[0]]))
		form, o := readSymbol(symbol.FindStringSubmatch(want[m[0]:m[1]]))
		pattern.WriteString(form)
		seen = append(seen, o)
		end = m[1]
	}
	pattern.WriteString(regexp.QuoteMeta(want[end:]) + "$")
	compiled, err := regexp.Compile(pattern.String())
	if err != nil {
		return nil, false // a recorded string that is no UTF-8
	}
	values := compiled.FindStringSubmatch(got)
	if values == nil {
		return nil, false
	}
	for i := range seen {
		seen[i].value = values[i+1]
	}
	return slices.DeleteFunc(seen, func(o observation) bool { return o.kind == "" }), true
}

// readSymbol returns the form of the values of a symbol, given the submatches
// of symbol, and what is to be observed.
func readSymbol(parts []string) (pattern string, o observation) {
	switch {
	case parts[4] == "same":
		return numberPattern, observation{kind: "rv", same: true}
	case parts[4] == "any":
		return numberPattern, observation{}
	case parts[5] == "time":
		return timePattern, observation{}
	case parts[5] == "microtime":
		return microtimePattern, observation{}
	case parts[5] == "age":
		return agePattern, observation{}
	}
	n, _ := strconv.Atoi(parts[2]) // digits; one that is too large is like any other
	o = observation{kind: parts[1], n: n, plus: parts[3] == "+"}
	switch o.kind {
	case "uid":
		return uidPattern, o
	case "rand":
		return randPattern, o
	}
	return numberPattern, o
}

// bindings say which value each symbol stands for in one run of a scenario.
type bindings map[string]map[int]string // by kind and number

// bind gives the symbol its value. It returns what contradicts that: another
// value, another symbol with the value, or the order of resource versions.
func (b bindings) bind(o observation) string {
	if b[o.kind] == nil {
		b[o.kind] = map[int]string{}
	}
	bound := b[o.kind]
	if value, ok := bound[o.n]; ok {
		if value != o.value {
			return fmt.Sprintf("want %s, which is %s, got %s", o.symbol(), value, o.value)
		}
		return ""
	}
	for _, n := range sortedNumbers(bound) {
		switch {
		case bound[n] == o.value:
			return fmt.Sprintf("want %s, got the value of %s, %s", o.symbol(), observation{kind: o.kind, n: n}.symbol(), o.value)
		case o.kind == "rv" && (n < o.n) != (compareNumbers(bound[n], o.value) < 0):
			return fmt.Sprintf("want %s, got %s, but %s is %s", o.symbol(), o.value, observation{kind: o.kind, n: n}.symbol(), bound[n])
		}
	}
	bound[o.n] = o.value
	return ""
}

// between checks a <rv:N+>: at or after <rv:N> and before <rv:N+1>, or the
// nearest ones with a known value.
func (b bindings) between(o observation) string {
	numbers := sortedNumbers(b["rv"])
	for _, n := range slices.Backward(numbers) {
		if n <= o.n {
			if value := b["rv"][n]; compareNumbers(o.value, value) < 0 {
				return fmt.Sprintf("want %s, at or after <rv:%d>, which is %s; got %s", o.symbol(), n, value, o.value)
			}
			break
		}
	}
	for _, n := range numbers {
		if n > o.n {
			if value := b["rv"][n]; compareNumbers(o.value, value) >= 0 {
				return fmt.Sprintf("want %s, before <rv:%d>, which is %s; got %s", o.symbol(), n, value, o.value)
			}
			break
		}
	}
	return ""
}

// resolve binds the symbols of a whole run and adds to each comparison what
// contradicts. Comparisons without other differences come first, so that one
// that is wrong anyhow cannot make them look wrong.
func resolve(steps []*comparison) {
	b := bindings{}
	var right, wrong []*comparison
	for _, c := range steps {
		if len(c.differences) == 0 {
			right = append(right, c)
		} else {
			wrong = append(wrong, c)
		}
	}
	for _, c := range slices.Concat(right, wrong) {
		for _, o := range c.seen {
			if o.plus {
				continue
			}
			if contradiction := b.bind(o); contradiction != "" {
				c.differ(o.path, "%s", contradiction)
			}
		}
	}
	for _, c := range steps {
		for _, o := range c.seen {
			if !o.plus {
				continue
			}
			if contradiction := b.between(o); contradiction != "" {
				c.differ(o.path, "%s", contradiction)
			}
		}
	}
}

func sortedNumbers(m map[int]string) []int {
	numbers := make([]int, 0, len(m))
	for n := range m {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

// compareNumbers compares decimal numbers of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
