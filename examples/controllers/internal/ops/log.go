package ops

import (
	"context"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Log returns the logger that the options ask for, and ctx with it: code that takes
// its logger from the context (klog.FromContext), as client-go does and our informers
// do, writes to the same place in the same format. What has no context is routed by
// LogGlobally.
func Log(ctx context.Context, to io.Writer, o Options) (context.Context, *slog.Logger) {
	settings := &slog.HandlerOptions{Level: slog.LevelInfo}
	if o.Verbose {
		settings.Level = slog.Level(-4) // klog's V(4), and slog's own Debug
	}
	var handler slog.Handler = slog.NewTextHandler(to, settings)
	if o.LogFormat == "json" {
		handler = slog.NewJSONHandler(to, settings)
	}
	return klog.NewContext(ctx, logr.FromSlogHandler(handler)), slog.New(handler)
}

// LogGlobally routes what is logged without a context, through klog or slog's
// default, to log. It is for main: tests that do this affect each other.
func LogGlobally(log *slog.Logger) {
	klog.SetSlogLogger(log)
	slog.SetDefault(log)
}
