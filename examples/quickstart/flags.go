package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// settings are what the command line says.
type settings struct {
	paths      []string // none: the example's own manifests
	kubeconfig string   // "": an embedded fakeserver
	context    string   // "": the current one
	watch      bool
	every      time.Duration // between the status lines of watch
}

const usage = `Quickstart keeps informers in step with an API server and proves it.

Usage: quickstart [-f PATH]... [-kubeconfig PATH [-context NAME]] [-watch]

  -f PATH           manifests: a file, or a folder with all *.yaml, *.yml and
                    *.json below it; may be given several times
                    (default: those of a small shop, built in)
  -kubeconfig PATH  watch a real cluster; nothing is written there. The kinds
                    are those of -f, or a few common ones
  -context NAME     the context in that kubeconfig (default: its current one)
  -watch            go on until interrupted, with a status line every 5 s and a
                    line when trouble begins and when it is over
  -h                this help

Exit status: 0 in step with the server, 1 not in step or failed, 2 wrong usage.

Examples, in a checkout of the repository:

  go run ./examples/quickstart
  go run ./examples/quickstart -f my-app/deploy/
  go run ./examples/quickstart -f app.yaml -f database.yaml -watch
  go run ./examples/quickstart -kubeconfig ~/.kube/config -context staging
`

// parseFlags reads the command line. Asked for help, it prints that to stdout
// and returns flag.ErrHelp; any other error is wrong usage.
func parseFlags(args []string, stdout io.Writer) (settings, error) {
	s := settings{every: 5 * time.Second}
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are printed by the caller, once
	flags.Func("f", "", func(path string) error {
		if path == "" {
			return errors.New("the path is empty")
		}
		s.paths = append(s.paths, path)
		return nil
	})
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&s.context, "context", "", "")
	flags.BoolVar(&s.watch, "watch", false, "")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return s, err
	case err != nil:
		return s, err
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q; manifests are given with -f", flags.Arg(0))
	}
	return s, checkGiven(flags)
}

// checkGiven refuses what would otherwise run the built-in show instead of what
// was meant: an empty value, as an unset variable of a script leaves it, is not
// the same as no flag.
func checkGiven(flags *flag.FlagSet) error {
	given := map[string]string{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = f.Value.String() })
	path, hasPath := given["kubeconfig"]
	name, hasName := given["context"]
	switch {
	case hasPath && path == "":
		return errors.New("-kubeconfig is empty; give the path of a kubeconfig, or leave the flag out for an embedded server")
	case hasName && !hasPath:
		return errors.New("-context needs -kubeconfig")
	case hasName && name == "":
		return errors.New("-context is empty; give the name of a context, or leave the flag out for the current one")
	}
	return nil
}
