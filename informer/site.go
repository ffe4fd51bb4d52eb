package informer

import (
	"fmt"
	"runtime"
	"strings"
)

// site is where a handler was registered: the innermost callers, to be looked up
// only when somebody asks.
type site [8]uintptr

// callerSite is the site of whoever called into this package.
func callerSite() site {
	var s site
	runtime.Callers(2, s[:])
	return s
}

// self is what the names of functions of this package begin with.
const self = "github.com/listwatch/listwatch/informer"

// String is "file:line" of the innermost caller outside this package and those
// below it.
func (s site) String() string {
	n := 0
	for n < len(s) && s[n] != 0 {
		n++
	}
	frames := runtime.CallersFrames(s[:n])
	for {
		frame, more := frames.Next()
		rest, ours := strings.CutPrefix(frame.Function, self)
		ours = ours && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/")) && !strings.HasSuffix(frame.File, "_test.go")
		if frame.File != "" && (!ours || !more) {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
		if !more {
			return ""
		}
	}
}
