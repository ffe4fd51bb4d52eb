package bubble

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"go.uber.org/goleak"

	"github.com/listwatch/listwatch/internal/mutationtest"
)

// suite is the test that runs the specs of this process, nil before RunSpecs.
var suite atomic.Pointer[testing.T]

// interrupts is a goroutine that ginkgo leaves behind by design: it waits for
// signals as long as the process lives.
const interrupts = "github.com/onsi/ginkgo/v2/internal/interrupt_handler.(*InterruptHandler).registerForInterrupts.func2"

// VerifyTestMain runs a package's tests and fails when goroutines are left
// behind. It is goleak.VerifyTestMain for a package that has a ginkgo suite. The
// informers of the tests detect mutations of their caches.
func VerifyTestMain(m *testing.M) {
	mutationtest.On()
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(interrupts))
}

// RunSpecs registers gomega's fail handler and runs the package's specs as part
// of t. A package has one suite, so one test that calls it. Repeated by
// -count=N, which ginkgo does not support within a process, it runs the test
// binary again for this test alone.
func RunSpecs(t *testing.T, description string) {
	t.Helper()
	if first := suite.Load(); first != nil {
		if first.Name() != t.Name() {
			t.Fatalf("bubble.RunSpecs was called by %s already: a package has one suite", first.Name())
		}
		runAgain(t)
		return
	}
	suite.Store(t)
	gomega.RegisterFailHandler(ginkgo.Fail)
	defer pretendCountOne()()
	ginkgo.RunSpecs(t, description)
}

// pretendCountOne hides -count from ginkgo, which exits the process if it is not
// 1, and returns what undoes it. The test loop reads the flag between
// repetitions only, so it does not notice.
func pretendCountOne() (undo func()) {
	count := flag.Lookup("test.count").Value
	before := count.String()
	set := func(value string) {
		if err := count.Set(value); err != nil {
			panic(err) // both values are numbers
		}
	}
	set("1")
	return func() { set(before) }
}

// runAgain repeats t in a process of its own and shows its output if it fails.
func runAgain(t *testing.T) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatalf("bubble.RunSpecs: cannot repeat the suite: %v", err)
	}
	args := repeatArgs(t.Name(), os.Args[1:])
	if deadline, ok := t.Deadline(); ok {
		args = append(args, fmt.Sprintf("-test.timeout=%v", time.Until(deadline)))
	}
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	if err != nil {
		t.Errorf("repetition of the suite: %v\n%s", err, out)
	}
}

// repeatArgs returns the arguments that run one test of a test binary once: the
// caller's arguments without those of package testing, which would write the
// same profiles and logs a second time.
func repeatArgs(name string, args []string) []string {
	var pattern []string
	for part := range strings.SplitSeq(name, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	repeat := []string{"-test.run=" + strings.Join(pattern, "/"), "-test.count=1"}
	for _, arg := range args {
		if !strings.HasPrefix(strings.TrimLeft(arg, "-"), "test.") {
			repeat = append(repeat, arg)
		}
	}
	return repeat
}
