package bubble

import (
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// header matches the first line of a goroutine in a stack dump:
// "goroutine 12 [chan receive (durable), synctest bubble 3]:".
var header = regexp.MustCompile(`^goroutine \d+ (?:gp=\S+ .*)?\[.*\bsynctest bubble (\d+)`)

// bubbleID returns the number of the bubble that the caller runs in, 0 outside
// of any. The runtime tells it nowhere but in stack dumps.
func bubbleID() int64 {
	buf := make([]byte, 256)
	return idOf(string(buf[:runtime.Stack(buf, false)]))
}

func idOf(stack string) int64 {
	m := header.FindStringSubmatch(stack)
	if m == nil {
		return 0
	}
	id, _ := strconv.ParseInt(m[1], 10, 64) // digits by the pattern
	return id
}

// Goroutines is the number of goroutines in the bubble that it is called in, but
// for those of this package; 0 outside of any. Unlike runtime.NumGoroutine it does
// not count goroutines of earlier specs, which may still be ending.
func Goroutines() int {
	id := bubbleID()
	if id == 0 {
		return 0
	}
	return len(selectStacks(dumpAll(), id))
}

// dumpAll returns the stacks of all goroutines.
func dumpAll() string {
	for size := 1 << 20; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return string(buf[:n])
		}
	}
}

// goroutinesOf returns the stacks of the goroutines of a bubble as the tail of a
// message, without the two or three that belong to this package and testing.
func goroutinesOf(id int64) string {
	if id == 0 {
		return ""
	}
	stacks := selectStacks(dumpAll(), id)
	if len(stacks) == 0 {
		return ""
	}
	return fmt.Sprintf("\n%d goroutine(s) of the bubble:\n\n%s\n", len(stacks), strings.Join(stacks, "\n\n"))
}

// selectStacks picks from a dump of all goroutines those of one bubble that a
// reader of a failure is interested in.
func selectStacks(dump string, id int64) []string {
	var picked []string
	for stack := range strings.SplitSeq(strings.TrimSpace(dump), "\n\n") {
		ours := strings.Contains(stack, "bubble.(*run).main(") || strings.Contains(stack, "internal/synctest.Run(")
		if idOf(stack) == id && !ours {
			picked = append(picked, stack)
		}
	}
	return picked
}
