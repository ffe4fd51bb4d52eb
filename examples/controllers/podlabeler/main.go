package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/internal/worker"
)

// name is what the controller calls itself: to the server, in events and in metrics.
const name = "podlabeler"

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
	if status, ok := ops.Parse(flags, &options, args, stderr); !ok {
		return status
	}
	ctx, log := ops.Log(ctx, stderr, options)
	ops.LogGlobally(log)
	return ops.Status(log, serve(ctx, options, log))
}

// serve is all that has to do with sockets. What is deferred happens in the reverse
// order, so the server in the process, if there is one, goes last.
func serve(ctx context.Context, options ops.Options, log *slog.Logger) error {
	cluster, err := ops.Connect(ctx, options, log, name)
	if err != nil {
		return err
	}
	defer cluster.Close()
	p, err := newProgram(cluster.Config, options, log)
	if err != nil {
		return err
	}
	endpoint, err := ops.Serve(log, options, p.diagnostics())
	if err != nil {
		return err
	}
	defer endpoint.Close()
	if options.Demo {
		demonstration := worker.New(ctx)
		defer demonstration.StopAndWait()
		demonstration.Go("demo", func(ctx context.Context) { demo(ctx, cluster.Config, log) })
	}
	return p.lead(ctx)
}

// program is one controller after the other: with leader election, each time that the
// lease is won.
type program struct {
	client  kubernetes.Interface
	options ops.Options
	log     *slog.Logger
	metrics *metrics
	current atomic.Pointer[controller] // nil: it is not our turn
}

func newProgram(config *rest.Config, options ops.Options, log *slog.Logger) (*program, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &program{client: client, options: options, log: log, metrics: newMetrics()}, nil
}

// lead works whenever it is this process's turn, until ctx ends.
func (p *program) lead(ctx context.Context) error {
	return ops.Lead(ctx, p.options, p.client, func(ctx context.Context) error {
		c, err := newController(p.client, p.log, p.metrics)
		if err != nil {
			return err
		}
		p.current.Store(c)
		defer p.current.Store(nil)
		return c.Run(ctx)
	})
}

// diagnostics show the controller of the moment.
func (p *program) diagnostics() http.Handler {
	return ops.Handler(ops.Diagnostics{
		Metrics: p.metrics.registry,
		Ready: func() error {
			c := p.current.Load()
			switch {
			case c != nil:
				return ops.Synced(c.watched[0], c.watched[1])
			case p.options.LeaderElect: // there are no caches before it is our turn
				return nil
			}
			return errors.New("not running")
		},
		Standby: func() bool { return p.options.LeaderElect && p.current.Load() == nil },
		Informers: func() (all []informer.Inspectable) {
			if c := p.current.Load(); c != nil {
				all = append(all, c.watched[0], c.watched[1])
			}
			return all
		},
	})
}
