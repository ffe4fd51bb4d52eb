package objectjson

import (
	"encoding/json"
	"strings"
	"testing"
)

// BenchmarkAppend writes a pod a good part of which are managed fields.
func BenchmarkAppend(b *testing.B) {
	fields := `{"f:spec":{` + strings.TrimSuffix(strings.Repeat(`"k:{\"name\":\"LOG_LEVEL\"}":{".":{},"f:name":{},"f:value":{}},`, 20), ",") + `}}`
	pod := managed("", fields, fields)
	for name, write := range map[string]func() ([]byte, error){
		"ours":          func() ([]byte, error) { return Append(nil, pod) },
		"encoding/json": func() ([]byte, error) { return json.Marshal(pod) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := write(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
