package ops

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/listwatch/listwatch/informer"
)

// Diagnostics are what a controller shows of itself. All functions are called for
// each request, concurrently.
//
// What the pages mean, in all controllers here: /healthz asks whether the process
// runs, and fails for nothing that a restart would not mend. /readyz asks whether its
// caches are complete: not before their first list, and from then on also while the
// server is out of reach, since they still answer, and no other process could do
// more. A process that stands by while another one has the lease is ready, or a
// rolling update would wait for it until the lease is free, and so for ever; the text
// says that it stands by. Whether the caches are up to date is told by /informers and
// /metrics.
type Diagnostics struct {
	// Metrics are shown at /metrics.
	Metrics prometheus.Gatherer
	// Healthy says at /healthz that the process had better be started again; nil is
	// always healthy. A server that cannot be reached is no reason: starting again
	// would not help.
	Healthy func() error
	// Ready says at /readyz why the process could not work now if it were its turn:
	// see Synced. Nil is always ready.
	Ready func() error
	// Standby reports whether it is another one's turn, which /readyz says if the
	// process is ready. Nil: no leader election.
	Standby func() bool
	// Informers are shown at /informers, where there is no page without it.
	Informers func() []informer.Inspectable
}

// Handler serves /metrics, /healthz, /readyz and /informers.
func Handler(d Diagnostics) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(d.Metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", answer(d.Healthy, nil))
	mux.HandleFunc("GET /readyz", answer(d.Ready, d.Standby))
	if d.Informers != nil {
		mux.Handle("GET /informers", informer.StatusHandlerOf(d.Informers))
	}
	return mux
}

// answer says ok, and if somebody stands by, or with status 503 what is not.
func answer(check func() error, standby func() bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if check != nil {
			if err := check(); err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				fmt.Fprintln(w, strings.TrimSpace(err.Error()))
				return
			}
		}
		if standby != nil && standby() {
			fmt.Fprintln(w, "ok, standing by without the lease")
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

// Synced is nil if all informers are in sync; the error says for each other one what
// keeps it: meant for Diagnostics.Ready.
func Synced(informers ...informer.Syncer) error {
	ended, end := context.WithCancel(context.Background())
	end() // so that it says how things are, and does not wait
	return informer.WaitForSync(ended, informers...)
}

// NewRegistry returns a registry that has the metrics of the process and of the Go
// runtime already.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}
