package ops_test

import (
	"bytes"
	"flag"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
)

func TestFlagsAreParsedOrTheProgramEndsWithTheStatusThatTheyAskFor(t *testing.T) {
	for _, test := range []struct {
		args   string
		ok     bool
		status int
		says   string
		demo   bool
	}{
		{args: "", ok: true, demo: true},
		{args: "-demo=false", ok: true},
		{args: "-kubeconfig some", ok: true},
		{args: "-kubeconfig some -demo", ok: true, demo: true},
		{args: "-leader-elect -log-format json", ok: true, demo: true},
		{args: "-h", status: 0, says: "-kubeconfig path"},
		{args: "-nonsense", status: 2, says: "-nonsense"},
		{args: "start", status: 2, says: `unexpected argument "start"`},
		{args: "-log-format xml", status: 2, says: `not "xml"`},
		{args: "-leader-elect -lease-name=", status: 2, says: "needs"},
	} {
		var options ops.Options
		flags := flag.NewFlagSet("example", flag.ContinueOnError)
		options.AddFlags(flags)
		var stderr bytes.Buffer
		status, ok := ops.Parse(flags, &options, strings.Fields(test.args), &stderr)
		if status != test.status || ok != test.ok || !strings.Contains(stderr.String(), test.says) {
			t.Errorf("%q: status %d, ok %t, stderr %q", test.args, status, ok, stderr.String())
		}
		if test.ok && options.Demo != test.demo {
			t.Errorf("%q: demo %t", test.args, options.Demo)
		}
		if options.LeaseName != "example" && test.ok {
			t.Errorf("%q: the lease is called %q", test.args, options.LeaseName)
		}
	}
}
