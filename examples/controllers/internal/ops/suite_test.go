package ops_test

import (
	"testing"

	"github.com/listwatch/listwatch/internal/bubble"
)

func TestMain(m *testing.M) { bubble.VerifyTestMain(m) }

func TestOps(t *testing.T) { bubble.RunSpecs(t, "what controllers have in common") }
