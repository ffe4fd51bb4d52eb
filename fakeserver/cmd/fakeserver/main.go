package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/listwatch/listwatch/fakeserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program but for the process around it: it serves until ctx
// ends and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("fakeserver", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:0", "`address` to serve on; port 0 takes a free one")
	kubeconfig := flags.String("kubeconfig", "", "`path` of a kubeconfig to write, for kubectl and others")
	steer := flags.Bool("steer", false, "serve POST /-/compact and POST /-/drop-watches as well")
	allVersions := flags.Bool("all-versions", false, "serve alpha, beta and removed versions as well")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "fakeserver: unexpected argument %q; see -h\n", flags.Arg(0))
		return 2
	}
	options := fakeserver.Options{Steer: *steer, AllVersions: *allVersions}
	if err := serve(ctx, *listen, *kubeconfig, options, stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, address, kubeconfig string, options fakeserver.Options, stdout io.Writer) error {
	server, err := fakeserver.New(options)
	if err != nil {
		return err
	}
	defer server.Close()
	url, err := server.Listen(ctx, address)
	if err != nil {
		return err
	}
	// Written before the first line is printed: who waits for that line may use
	// the file at once.
	if kubeconfig != "" {
		if err := fakeserver.WriteKubeconfig(kubeconfig, url); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "serving on %s\n", url)
	if kubeconfig != "" {
		fmt.Fprintf(stdout, "try: kubectl --kubeconfig %s get namespaces\n", kubeconfig)
	}
	<-ctx.Done()
	fmt.Fprintln(stdout, "stopping")
	return nil
}
