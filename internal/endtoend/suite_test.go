package endtoend_test

import (
	"testing"

	"github.com/listwatch/listwatch/internal/bubble"
)

func TestMain(m *testing.M) { bubble.VerifyTestMain(m) }

func TestEndToEnd(t *testing.T) { bubble.RunSpecs(t, "end to end") }
