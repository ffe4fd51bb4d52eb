package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Values are JSON as encoding/json decodes it into any, with json.Number for
// numbers, because 1 and 1.0 are different answers.

// decode reads one JSON value and nothing after it.
func decode(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("golden: more than one JSON value")
	}
	return value, nil
}

// encode writes a value as compact JSON without escaping HTML.
func encode(value any) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return string(bytes.TrimSuffix(buffer.Bytes(), []byte("\n")))
}

// text is a string itself, and other values as JSON.
func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	return encode(value)
}

// clone copies a value deeply.
func clone(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, child := range value {
			copied[key] = clone(child)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for i, child := range value {
			copied[i] = clone(child)
		}
		return copied
	}
	return value
}

// merge applies a JSON merge patch (RFC 7396) to a value, which it may change.
func merge(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for key, change := range changes {
		if change == nil {
			delete(object, key)
		} else {
			object[key] = merge(object[key], change)
		}
	}
	return object
}

// protobufPrefix starts every protobuf object.
const protobufPrefix = "k8s\x00"

// decodeBody makes a value of a body: JSON and YAML parsed, the envelope of a
// protobuf object, everything else as a string.
func decodeBody(contentType string, body []byte) any {
	mediaType, _ := parseMediaType(contentType)
	switch {
	case bytes.HasPrefix(body, []byte(protobufPrefix)):
		return envelope(body)
	case mediaType == "application/json":
		if value, err := decode(body); err == nil {
			return value
		}
	case mediaType == "application/yaml":
		if converted, err := yaml.YAMLToJSON(body); err == nil {
			if value, err := decode(converted); err == nil {
				return value
			}
		}
	}
	return string(body)
}

// envelope is what is compared of a protobuf object: that it is one, and of
// which kind.
func envelope(object []byte) any {
	shown := map[string]any{"prefix": "", "hasRaw": false}
	rest, found := bytes.CutPrefix(object, []byte(protobufPrefix))
	if found {
		shown["prefix"] = `k8s\0`
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(rest); err != nil {
		shown["error"] = err.Error()
		return map[string]any{"$protobuf": shown}
	}
	shown["apiVersion"], shown["kind"], shown["hasRaw"] = unknown.APIVersion, unknown.Kind, len(unknown.Raw) > 0
	return map[string]any{"$protobuf": shown}
}

// protobufAnnotations returns the annotations of a protobuf object. Every kind
// has its metadata in field 1, so that any of them reads as metadata alone.
func protobufAnnotations(object []byte) map[string]string {
	var unknown runtime.Unknown
	rest, _ := bytes.CutPrefix(object, []byte(protobufPrefix))
	if unknown.Unmarshal(rest) != nil {
		return nil
	}
	var partial metav1.PartialObjectMetadata
	if partial.Unmarshal(unknown.Raw) != nil {
		return nil
	}
	return partial.Annotations
}
