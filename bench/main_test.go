package bench

import (
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// TestMain looks for leaked goroutines. The one exception is kube-apiserver's:
// each wait for a resource version leaves a goroutine behind, which sleeps for
// the three seconds that a request may block.
func TestMain(m *testing.M) {
	if count, err := strconv.Atoi(os.Getenv("LISTWATCH_WIRE_SERVER")); err == nil {
		serveWire(count)
		return
	}
	if order := os.Getenv("LISTWATCH_WIRE_CLIENT"); order != "" {
		followWire(order)
		return
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("k8s.io/apiserver/pkg/storage/cacher.(*watchCache).waitUntilFreshLocked.func2"))
}
