package apiserver

import (
	"testing"

	"github.com/listwatch/listwatch/internal/bubble"
)

func TestMain(m *testing.M) { bubble.VerifyTestMain(m) }

func TestServer(t *testing.T) { bubble.RunSpecs(t, "apiserver") }
