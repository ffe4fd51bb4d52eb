package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Cells of printed rows that say nothing.
const (
	noneCell    = "<none>"
	unknownCell = "<unknown>"
	unsetCell   = "<unset>"
)

// age is a cell that says how long ago something was when the row is sent.
type age struct{ since time.Time }

// mixed is a cell of text with an age in it.
type mixed struct {
	before string
	age    age
	after  string
}

func createdAge(obj metav1.Object) any { return ageOf(obj.GetCreationTimestamp()) }

func ageOf(t metav1.Time) any {
	if t.IsZero() {
		return unknownCell
	}
	return age{t.Time}
}

// A row is encoded once and sent for as long as the object stays the same, so
// the ages in it are holes: ageMark, the time in Unix seconds, ageMark. In JSON
// that byte never occurs as such.
const ageMark = 0x01

// appendCells appends the cells as a JSON array with holes.
func appendCells(dst []byte, cells []any) ([]byte, error) {
	dst = append(dst, '[')
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch c := cell.(type) {
		case age:
			dst = append(appendHole(append(dst, '"'), c), '"')
		case mixed:
			before, after, err := marshalTwo(c.before, c.after)
			if err != nil {
				return nil, err
			}
			dst = appendHole(append(dst, before[:len(before)-1]...), c.age)
			dst = append(dst, after[1:]...)
		default:
			data, err := json.Marshal(c)
			if err != nil {
				return nil, fmt.Errorf("%w: cell %d: %w", ErrCodec, i, err)
			}
			dst = append(dst, data...)
		}
	}
	return append(dst, ']'), nil
}

func marshalTwo(a, b string) (first, second []byte, err error) {
	if first, err = json.Marshal(a); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	if second, err = json.Marshal(b); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	return first, second, nil
}

func appendHole(dst []byte, a age) []byte {
	dst = append(dst, ageMark)
	dst = strconv.AppendInt(dst, a.since.Unix(), 10)
	return append(dst, ageMark)
}

// appendFilled appends data with its holes filled with the ages at now.
func appendFilled(dst, data []byte, now time.Time) []byte {
	for {
		start := bytes.IndexByte(data, ageMark)
		if start < 0 {
			return append(dst, data...)
		}
		dst, data = append(dst, data[:start]...), data[start+1:]
		end := bytes.IndexByte(data, ageMark)
		if end < 0 {
			return dst // no row has half a hole
		}
		seconds, _ := strconv.ParseInt(string(data[:end]), 10, 64)
		dst = append(dst, duration.HumanDuration(now.Sub(time.Unix(seconds, 0)))...)
		data = data[end+1:]
	}
}

// orNone is text, or what stands for none.
func orNone(text string) string {
	if text == "" {
		return noneCell
	}
	return text
}

func joinOrNone(texts []string, separator string) string {
	return orNone(strings.Join(texts, separator))
}

// atMost joins the first few of many and counts the rest.
func atMost(texts []string, most int) string {
	if len(texts) <= most {
		return joinOrNone(texts, ",")
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(texts[:most], ","), len(texts)-most)
}

// mapText is "k=v,…" in the order of the keys.
func mapText[K ~string, V any](m map[K]V) string {
	pairs := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, fmt.Sprintf("%s=%v", key, m[key]))
	}
	return joinOrNone(pairs, ",")
}

func selectorText(s *metav1.LabelSelector) string {
	if s == nil {
		return noneCell
	}
	return metav1.FormatLabelSelector(s)
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// derefOr is the value in text, or fallback.
func derefOr[T any](p *T, fallback string) string {
	if p == nil {
		return fallback
	}
	return fmt.Sprint(*p)
}

func percentText(v *intstr.IntOrString) string {
	if v == nil {
		return "N/A"
	}
	return v.String()
}

// containerTexts are the names and the images of containers.
func containerTexts(containers []corev1.Container) (names, images string) {
	var n, i []string
	for _, c := range containers {
		n, i = append(n, c.Name), append(i, c.Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}
