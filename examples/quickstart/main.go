package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/examples/quickstart/internal/manifest"
)

//go:embed manifests
var ownManifests embed.FS

// Patience bounds everything but -watch: what takes longer than this hangs. A
// real cluster may be large and far away.
const (
	patience     = 25 * time.Second
	realPatience = 2 * time.Minute
)

var errInterrupted = errors.New("interrupted")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run is the program without the process around it. It returns the exit status:
// 0 in step, 1 any failure, 2 wrong usage.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	settings, err := parseFlags(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "quickstart: %v (quickstart -h tells the usage)\n", err)
		return 2
	}
	if err := execute(ctx, settings, stdout); err != nil {
		fmt.Fprintf(stderr, "quickstart: %v\n", err)
		return 1
	}
	return 0
}

func execute(ctx context.Context, settings settings, stdout io.Writer) error {
	ctx = klog.NewContext(ctx, klog.Logger{}) // what matters is printed here
	out := newPrinter(stdout)
	defer out.close()
	return quickstart(ctx, settings, out)
}

func quickstart(ctx context.Context, settings settings, out *printer) error {
	limit := patience
	if settings.kubeconfig != "" {
		limit = realPatience
	}
	hurry, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("gave up after %v", limit))
	defer cancel()
	site, err := connect(hurry, settings, out)
	if err != nil {
		return orInterrupted(ctx, err)
	}
	defer site.close()
	objects, err := readManifests(settings, site.kinds, out)
	if err != nil {
		return err
	}
	if !site.real() {
		if err := load(hurry, site.client, objects, out); err != nil {
			return orInterrupted(ctx, err)
		}
	}
	mappings, err := watchedKinds(settings, site.kinds, objects)
	if err != nil {
		return err
	}
	if site.real() {
		if err := mayRead(hurry, site.client, mappings); err != nil {
			return orInterrupted(ctx, err)
		}
	}
	informers, err := startFleet(ctx, site, mappings, out)
	if err != nil {
		return err
	}
	defer informers.stop()
	result, err := perform(hurry, site, informers, objects, out)
	if err != nil {
		return orInterrupted(ctx, err)
	}
	if !settings.watch {
		informers.stop() // so that the result is the last line, whoever writes
	}
	out.conclude(result)
	if settings.watch {
		return keepWatching(ctx, settings, site, informers, out)
	}
	return nil
}

// perform is everything between the start of the informers and the proof that
// they are in step, which it returns.
func perform(ctx context.Context, site *site, informers *fleet, objects []manifest.Object, out *printer) (string, error) {
	ctx, cancel := informers.bind(ctx)
	defer cancel()
	if err := informers.sync(ctx, out); err != nil {
		return "", err
	}
	if !site.real() {
		if err := play(ctx, site, informers, objects, out); err != nil {
			return "", err
		}
	}
	return prove(ctx, site, informers)
}

// orInterrupted replaces an error that is only a consequence of the interrupt.
func orInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// readManifests checks the manifests of the paths, or those of the example. A
// real cluster needs none.
func readManifests(settings settings, kinds *manifest.Kinds, out *printer) ([]manifest.Object, error) {
	var files []manifest.File
	var err error
	var origin string
	switch {
	case len(settings.paths) > 0:
		files, err = manifest.Read(settings.paths...)
	case settings.kubeconfig != "":
		out.say("no manifests are given: %s are watched; -f takes manifests with others", count(len(commonKinds), "common kind"))
		return nil, nil
	default:
		origin = ", built in"
		own, _ := fs.Sub(ownManifests, "manifests") // fails for an invalid path only
		files, err = manifest.ReadFS(own, "manifests")
	}
	if err != nil {
		return nil, err
	}
	out.say("checking the manifests in %s%s", count(len(files), "file"), origin)
	return manifest.Load(files, kinds)
}
