package fakeserver_test

import (
	"testing"

	"github.com/listwatch/listwatch/internal/bubble"
)

func TestMain(m *testing.M) { bubble.VerifyTestMain(m) }

func TestFakeserver(t *testing.T) { bubble.RunSpecs(t, "fakeserver") }
