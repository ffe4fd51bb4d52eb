package factory_test

import (
	"testing"

	"github.com/listwatch/listwatch/internal/bubble"
)

func TestMain(m *testing.M) { bubble.VerifyTestMain(m) }

func TestFactory(t *testing.T) { bubble.RunSpecs(t, "informer/factory") }
