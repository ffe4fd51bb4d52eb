package ops

import (
	"context"
	"fmt"
	"log/slog"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/listwatch/listwatch/fakeserver"
)

// Cluster is what a controller works with. The caller must Close it, after all
// that uses it.
type Cluster struct {
	// Config reaches it. Its user agent ends with the controller's name, so that the
	// server's log tells who asks.
	Config *rest.Config
	// Embedded is whether this is a server in this process: it is empty, and nobody
	// minds if demonstrations write to it.
	Embedded bool

	server *fakeserver.Server // nil: a real cluster
}

// Connect returns the cluster of the kubeconfig, or else starts a server in this
// process. That listens on loopback too, for kubectl and other onlookers, and log
// says where. Nothing is asked of the cluster yet: that it cannot be reached is for
// informers to bear, and to tell (a manager of controller-runtime does not).
func Connect(ctx context.Context, o Options, log *slog.Logger, controller string) (*Cluster, error) {
	if o.Kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("read -kubeconfig: %w", err)
		}
		log.Info("using a cluster", "server", config.Host)
		return &Cluster{Config: rest.AddUserAgent(config, controller)}, nil
	}
	server, err := fakeserver.New(fakeserver.Options{})
	if err != nil {
		return nil, err
	}
	// Not with ctx: it is closed last, when everybody has said what there was to say.
	url, err := server.Listen(context.WithoutCancel(ctx), "127.0.0.1:0")
	if err != nil {
		_ = server.Close() // always nil
		return nil, err
	}
	log.Info("started an API server in this process", "try", "kubectl --server "+url+" get events,all -A")
	return &Cluster{Config: rest.AddUserAgent(server.Config(), controller), Embedded: true, server: server}, nil
}

// Close closes the server if it is in this process.
func (c *Cluster) Close() {
	if c.server != nil {
		_ = c.server.Close() // always nil
	}
}
