// Package ops is what the example controllers have in common, whatever they
// control: what those who run a controller expect of it. It is a set of functions
// that a main calls one after the other, and no framework: nothing here calls
// anything else here on its own.
//
//	ctx, stop := ops.Interruptible()                    // until SIGINT or SIGTERM
//	options.AddFlags(flags)                             // -kubeconfig, -listen, -leader-elect, …
//	status, ok := ops.Parse(flags, &options, args, stderr)
//	ctx, log := ops.Log(ctx, stderr, options)           // one logger, for client-go too
//	cluster, err := ops.Connect(ctx, options, log, …)   // a kubeconfig's, or a server in this process
//	defer cluster.Close()
//	endpoint, err := ops.Serve(log, options, handler)   // /metrics /healthz /readyz /informers
//	defer endpoint.Close()
//	err = ops.Lead(ctx, options, client, work)          // work, once it is this process's turn
//	os.Exit(ops.Status(log, err))                       // 0 if it was to end
//
// Things end in the reverse order: the context ends; work stops taking new tasks,
// finishes those in progress and returns; the lease is released; the endpoint closes;
// the server in the process, if there is one, closes last.
//
// Only main knows of the process (signals, flags, sockets). The controllers
// themselves are given a rest.Config, so that their tests run them in a synctest
// bubble, against a fakeserver over in-memory pipes. Handler, Lead, Recorder and
// QueueMetrics work there too.
//
// Not promised: that events recorded shortly before the end reach the server.
//
// Goroutines: one of Serve, until Close; those of client-go's elector while Lead
// runs; five of client-go's broadcaster from Recorder until its stop, which end soon
// after it, and one for each event that is being sent; one of Interruptible until
// the first signal or stop, and one of package os/signal.
package ops
