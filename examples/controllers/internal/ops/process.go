package ops

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/listwatch/listwatch/internal/worker"
)

// Interruptible returns a context that ends with the first SIGINT or SIGTERM. By
// then, and after stop, signals do again what they do to any process: the second one
// ends it at once, whatever it still waits for.
func Interruptible() (ctx context.Context, stop func()) {
	ctx, end := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	group := worker.New(ctx)
	group.Go("signals", func(ctx context.Context) {
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals)
		end()
	})
	return ctx, group.StopAndWait
}

// Status is the exit status of a controller that ended with err, which it logs: 0
// for nil and for the end of the context that was to end it, 1 for all else.
func Status(log *slog.Logger, err error) int {
	if err == nil || errors.Is(err, context.Canceled) {
		log.Info("stopped")
		return 0
	}
	log.Error("stopped", "err", err)
	return 1
}
