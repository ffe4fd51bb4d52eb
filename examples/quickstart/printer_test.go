package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

func TestSettleReturnsWhenEverythingExpectedIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var output bytes.Buffer
		p := newPrinter(&output)
		p.expect("+ Pod a", "- Pod b")
		settled := make(chan error, 1)
		go func() { settled <- p.settle(t.Context()) }()
		p.report("+ Pod a", "a came")
		p.report("~ Pod c", "c is nobody's business")
		synctest.Wait()
		if len(settled) > 0 {
			t.Error("settled with a change outstanding")
		}
		p.report("- Pod b", "b went")
		if err := <-settled; err != nil {
			t.Error(err)
		}
		p.conclude("done")
		p.close()
		want := "   0.000s  a came\n   0.000s  c is nobody's business\n   0.000s  b went\ndone\n"
		if output.String() != want {
			t.Errorf("got\n%swant\n%s", output.String(), want)
		}
	})
}

func TestSettleNamesWhatWasNotReportedInTime(t *testing.T) {
	p := newPrinter(&bytes.Buffer{})
	defer p.close()
	p.expect("~ Pod a", "- Pod b")
	cause := errors.New("too late")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	err := p.settle(ctx)
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "have not reported - Pod b, ~ Pod a") {
		t.Errorf("got %v", err)
	}
}
