package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
)

const name = "runtime-operator"

func main() {
	ctx, stop := ops.Interruptible()
	status := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(status)
}

// run is the program without the process around it. It returns the exit status: 0
// after an interrupt, 1 for any failure, 2 for wrong usage.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	var s settings
	var o ops.Options
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	o.AddFlags(flags)
	flags.Lookup("listen").Usage = "`address` for /metrics and /informers; port 0 takes a free one"
	flags.StringVar(&s.probes, "probes", "127.0.0.1:0", "`address` for /healthz and /readyz")
	flags.BoolVar(&s.install, "install-crd", true, "install the definition of ConfigSets where it is missing")
	flags.StringVar(&s.informers, "informers", listwatch, "whose informers the manager is given: `listwatch` or client-go")
	if status, ok := ops.Parse(flags, &o, args, stderr); !ok {
		return status
	}
	if constructors[s.informers] == nil {
		fmt.Fprintf(stderr, "%s: -informers is %s or %s, not %q (-h tells the usage)\n", name, listwatch, clientGo, s.informers)
		return 2
	}
	s.metrics = o.Listen
	s.leaderElect, s.leaseNamespace, s.leaseName = o.LeaderElect, o.LeaseNamespace, o.LeaseName
	ctx, log := ops.Log(ctx, stderr, o)
	ops.LogGlobally(log)
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	return ops.Status(log, operate(ctx, s, o, log))
}

// operate runs an operator until ctx ends.
func operate(ctx context.Context, s settings, o ops.Options, log *slog.Logger) error {
	if err := errors.Join(fix(&s.metrics), fix(&s.probes)); err != nil {
		return err
	}
	cluster, err := ops.Connect(ctx, o, log, name)
	if err != nil {
		return err
	}
	defer cluster.Close()
	if s.install {
		created, err := configset.Install(ctx, cluster.Config)
		if err != nil {
			return err
		}
		log.Info("ConfigSets are served", "installed", created)
	}
	options, err := s.options(cluster.Config, logr.FromSlogHandler(log.Handler()))
	if err != nil {
		return err
	}
	mgr, seen, err := newOperator(ctx, cluster.Config, options)
	if err != nil {
		return err
	}
	hide, err := seen.show(mgr)
	if err != nil {
		return err
	}
	defer hide()
	if o.Demo {
		if err := mgr.Add(manager.RunnableFunc(demo{cluster.Config, mgr.GetScheme(), log}.run)); err != nil {
			return err
		}
	}
	log.Info("starting", "informers", s.informers,
		"metrics", "http://"+s.metrics+"/metrics", "ready", "http://"+s.probes+"/readyz")
	return mgr.Start(ctx)
}

// fix puts the number of a free port in place of 0, since a manager does not tell
// which one it was given, and loopback in place of no host.
func fix(address *string) error {
	host, port, err := net.SplitHostPort(*address)
	if err != nil {
		return fmt.Errorf("address %q: %w", *address, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return fmt.Errorf("address %q: %w", *address, err)
	}
	*address = listener.Addr().String()
	return listener.Close()
}
