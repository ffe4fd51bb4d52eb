package ops

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Options are what the flags of every controller say.
type Options struct {
	// Kubeconfig is the path of the kubeconfig of a cluster; "" is a server in this
	// process.
	Kubeconfig string
	// Listen is the address of the endpoint for metrics and health.
	Listen string
	// LogFormat is "text" or "json".
	LogFormat string
	// Verbose logs what is of interest to the developer too, of client-go as well.
	Verbose bool
	// LeaderElect has only the holder of a Lease work, of all processes that have
	// the same LeaseNamespace and LeaseName.
	LeaderElect               bool
	LeaseNamespace, LeaseName string
	// Demo has the example write a little load by itself, for something to be seen.
	Demo bool
}

// AddFlags adds the flags of all controllers. The lease is called as the program.
func (o *Options) AddFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "`path` of a kubeconfig; without it, an API server is started in this process")
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:0", "`address` for /metrics, /healthz, /readyz and /informers; port 0 takes a free one")
	flags.StringVar(&o.LogFormat, "log-format", "text", "`text` or json")
	flags.BoolVar(&o.Verbose, "v", false, "log more")
	flags.BoolVar(&o.LeaderElect, "leader-elect", false, "work only while holding a lease, so that several processes may run")
	flags.StringVar(&o.LeaseNamespace, "lease-namespace", "default", "`namespace` of the lease")
	flags.BoolVar(&o.Demo, "demo", true, "write a little load; with -kubeconfig only if this flag is named")
	flags.StringVar(&o.LeaseName, "lease-name", flags.Name(), "`name` of the lease")
}

// Parse parses args. If it reports false the program ends with the status: 0 after
// -h, 2 if the usage was wrong, which is then said on stderr.
func Parse(flags *flag.FlagSet, o *Options, args []string, stderr io.Writer) (status int, ok bool) {
	flags.SetOutput(stderr)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0, false
	} else if err != nil {
		return 2, false
	}
	var problem string
	switch {
	case flags.NArg() > 0:
		problem = fmt.Sprintf("unexpected argument %q", flags.Arg(0))
	case o.LogFormat != "text" && o.LogFormat != "json":
		problem = fmt.Sprintf("-log-format is text or json, not %q", o.LogFormat)
	case o.LeaderElect && (o.LeaseNamespace == "" || o.LeaseName == ""):
		problem = "-leader-elect needs -lease-namespace and -lease-name"
	}
	if problem != "" {
		fmt.Fprintf(stderr, "%s: %s (-h tells the usage)\n", flags.Name(), problem)
		return 2, false
	}
	named := false
	flags.Visit(func(f *flag.Flag) { named = named || f.Name == "demo" })
	o.Demo = o.Demo && (named || o.Kubeconfig == "") // nobody's cluster is written to unasked
	return 0, true
}
