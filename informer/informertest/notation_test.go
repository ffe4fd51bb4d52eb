package informertest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// In tests a state is written "uid@resourceVersion" or "uid@resourceVersion=content".
func version(t testing.TB, text string) Version {
	t.Helper()
	text, content, _ := strings.Cut(text, "=")
	uid, number, ok := strings.Cut(text, "@")
	if !ok {
		t.Fatalf("not a state: %q", text)
	}
	return Version{UID: types.UID(uid), ResourceVersion: num(t, number), Content: content}
}

func num(t testing.TB, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// makeHistory reads changes such as "+a u@5, ~a u@7, -a u@9" and extends the
// history to the given end.
func makeHistory(t testing.TB, text string, to uint64) *History {
	t.Helper()
	h := NewHistory(1, nil)
	for change := range strings.SplitSeq(text, ", ") {
		key, state, _ := strings.Cut(change[1:], " ")
		kinds := map[byte]watch.EventType{'+': watch.Added, '~': watch.Modified, '-': watch.Deleted}
		if err := h.Add(Change{Type: kinds[change[0]], Key: key, Version: version(t, state)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Extend(to); err != nil {
		t.Fatal(err)
	}
	return h
}

// makeTrace reads entries such as
//
//	"initial a u@5, sync, add b v@6, update a u@5 u@7, delete a u@9, gone a u@7, settled 9, snapshot 9 b v@6"
func makeTrace(t testing.TB, text string) []Entry {
	t.Helper()
	var trace []Entry
	for line := range strings.SplitSeq(text, ", ") {
		f := strings.Fields(line)
		var e Entry
		switch f[0] {
		case "initial", "add":
			e = Entry{Kind: AddCall, Key: f[1], Object: version(t, f[2]), Initial: f[0] == "initial"}
		case "update":
			e = Entry{Kind: UpdateCall, Key: f[1], Old: version(t, f[2]), Object: version(t, f[3])}
		case "delete", "gone":
			e = Entry{Kind: DeleteCall, Key: f[1], Object: version(t, f[2]), Exact: f[0] == "delete"}
		case "sync":
			e = Entry{Kind: SyncMark}
		case "settled":
			e = Entry{Kind: SettledMark, ResourceVersion: num(t, f[1])}
		case "snapshot":
			e = Entry{Kind: SnapshotRead, ResourceVersion: num(t, f[1]), Objects: map[string]Version{}}
			for i := 2; i < len(f); i += 2 {
				e.Objects[f[i]] = version(t, f[i+1])
			}
		default:
			t.Fatalf("not an entry: %q", line)
		}
		trace = append(trace, e)
	}
	return trace
}

// showTrace is the inverse of makeTrace.
func showTrace(trace []Entry) string {
	var lines []string
	for _, e := range trace {
		state := func(v Version) string {
			text := fmt.Sprintf("%s@%d", v.UID, v.ResourceVersion)
			if v.Content != "" {
				text += "=" + v.Content
			}
			return text
		}
		var line string
		switch e.Kind {
		case AddCall:
			line = map[bool]string{true: "initial ", false: "add "}[e.Initial] + e.Key + " " + state(e.Object)
		case UpdateCall:
			line = "update " + e.Key + " " + state(e.Old) + " " + state(e.Object)
		case DeleteCall:
			line = map[bool]string{true: "delete ", false: "gone "}[e.Exact] + e.Key + " " + state(e.Object)
		case SyncMark:
			line = "sync"
		case SettledMark:
			line = fmt.Sprint("settled ", e.ResourceVersion)
		case SnapshotRead:
			line = fmt.Sprint("snapshot ", e.ResourceVersion)
			for _, key := range slices.Sorted(maps.Keys(e.Objects)) {
				line += " " + key + " " + state(e.Objects[key])
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, ", ")
}
