package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"os"

	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/informer/informermetrics"
	"github.com/listwatch/listwatch/internal/worker"
)

// name is what the controller calls itself, to the server too.
const name = "replicas"

func main() {
	ctx, stop := ops.Interruptible()
	status := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(status)
}

// run is the program without the process around it; it returns the exit status.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	var options ops.Options
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	options.AddFlags(flags)
	install := flags.Bool("install-crd", true, "install the definition of ConfigSets where it is missing")
	if status, ok := ops.Parse(flags, &options, args, stderr); !ok {
		return status
	}
	ctx, log := ops.Log(ctx, stderr, options)
	ops.LogGlobally(log)
	return ops.Status(log, serve(ctx, options, *install, log))
}

// serve is all that has to do with sockets. What is deferred happens in the reverse
// order, so the server in the process, if there is one, goes last.
func serve(ctx context.Context, options ops.Options, install bool, log *slog.Logger) error {
	cluster, err := ops.Connect(ctx, options, log, name)
	if err != nil {
		return err
	}
	defer cluster.Close()
	registry := ops.NewRegistry()
	c, err := newController(settings{config: cluster.Config, log: log, install: install, queues: ops.QueueMetrics(registry)})
	if err != nil {
		return err
	}
	metrics := informermetrics.New()
	if err := metrics.Add(c.setCache, c.childCache); err != nil {
		return err
	}
	registry.MustRegister(metrics, c.writes)
	electing, err := kubernetes.NewForConfig(cluster.Config) // with a rate of its own, for the lease must not wait
	if err != nil {
		return err
	}
	endpoint, err := ops.Serve(log, options, c.diagnostics(options, registry))
	if err != nil {
		return err
	}
	defer endpoint.Close()
	c.start(ctx) // also while another process has the lease: so that work can begin at once
	defer c.stop()
	if options.Demo {
		demonstration := worker.New(ctx)
		defer demonstration.StopAndWait()
		demonstration.Go("demonstration", newDemo(c).run)
	}
	return ops.Lead(ctx, options, electing, c.work)
}
