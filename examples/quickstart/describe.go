package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// bookkeeping changes with every write and says nothing by itself.
var bookkeeping = map[string]bool{
	".metadata.resourceVersion": true,
	".metadata.generation":      true,
	".metadata.managedFields":   true,
}

// whatChanged says in a few words how two versions of an object differ.
func whatChanged(old, object *unstructured.Unstructured) string {
	const most = 2
	isSecret := object.GroupVersionKind().GroupKind().String() == "Secret"
	var changes []string
	compareValues("", old.Object, object.Object, func(path string, before, after any) {
		text := strings.TrimPrefix(path, ".")
		if isSecret && (strings.HasPrefix(path, ".data") || strings.HasPrefix(path, ".stringData")) {
			text += " (secret)"
		} else {
			text += " " + brief(before) + " → " + brief(after)
		}
		changes = append(changes, text)
	})
	switch {
	case len(changes) == 0:
		return "nothing but its resourceVersion"
	case len(changes) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(changes[:most], ", "), len(changes)-most)
	}
	return strings.Join(changes, ", ")
}

// compareValues calls differs for each smallest part that is not equal, in
// order of path.
func compareValues(path string, before, after any, differs func(path string, before, after any)) {
	if bookkeeping[path] || reflect.DeepEqual(before, after) {
		return
	}
	old, oldIsMap := before.(map[string]any)
	now, nowIsMap := after.(map[string]any)
	if !oldIsMap && !nowIsMap || before != nil && !oldIsMap || after != nil && !nowIsMap {
		differs(path, before, after)
		return
	}
	keys := maps.Clone(old)
	if keys == nil {
		keys = map[string]any{}
	}
	maps.Copy(keys, now)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		compareValues(path+element(key), old[key], now[key], differs)
	}
}

// element is a key as it stands in a path.
func element(key string) string {
	if strings.ContainsAny(key, "./") {
		return "[" + strconv.Quote(printable(key)) + "]"
	}
	return "." + printable(key)
}

// brief is a value on one short line.
func brief(value any) string {
	if value == nil {
		return "(none)"
	}
	const most = 32
	text, err := json.Marshal(value)
	if err != nil {
		return "(unreadable)"
	}
	runes := []rune(printable(string(text)))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}

// printable keeps what a server sends from steering the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}
