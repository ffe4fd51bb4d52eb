package informertest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/listwatch/listwatch/internal/mutationtest"
)

func TestMain(m *testing.M) {
	mutationtest.On()
	goleak.VerifyTestMain(m)
}
