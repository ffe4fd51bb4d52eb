package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/listwatch/listwatch/examples/quickstart/internal/manifest"
	"github.com/listwatch/listwatch/fakeserver"
)

// site is the API server that the program works with.
type site struct {
	kinds  *manifest.Kinds
	client dynamic.Interface // writes and lists
	watch  dynamic.Interface // the informers' own way to the server, through gate
	gate   *gate
	server *fakeserver.Server // nil: a real cluster
}

// real says that this is somebody's cluster, where nothing may be written.
func (s *site) real() bool { return s.server == nil }

func (s *site) close() {
	if s.server != nil {
		_ = s.server.Close() // always nil
	}
}

// connect starts a server, or reaches that of the kubeconfig.
func connect(ctx context.Context, settings settings, out *printer) (*site, error) {
	if settings.kubeconfig != "" {
		config, err := readKubeconfig(settings.kubeconfig, settings.context)
		if err != nil {
			return nil, err
		}
		var heard hearing
		s, version, err := newSite(ctx, config, &heard)
		if err != nil {
			return nil, heard.explain(settings.kubeconfig, config.Host, err)
		}
		out.say("connected to Kubernetes %s at %s; nothing is written there", version, config.Host)
		return s, nil
	}
	server, err := fakeserver.New(fakeserver.Options{})
	if err != nil {
		return nil, err
	}
	s, version, err := newSite(ctx, server.Config(), new(hearing))
	if err != nil {
		_ = server.Close()
		return nil, err
	}
	s.server = server
	out.say("started a fakeserver that speaks as Kubernetes %s", version)
	return s, nil
}

// reachable is how soon a server has to tell its kinds.
const reachable = 20 * time.Second

// newSite makes the clients and asks the server for its version and its kinds.
func newSite(ctx context.Context, config *rest.Config, heard *hearing) (*site, string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, reachable, fmt.Errorf("no answer for %v", reachable))
	defer cancel()
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	s := &site{gate: newGate()}
	asking, err := discovery.NewDiscoveryClientForConfig(heard.over(config))
	if err != nil {
		return nil, "", err
	}
	version, err := versionOf(ctx, asking.RESTClient())
	if err != nil {
		return nil, "", err
	}
	if s.kinds, err = manifest.Discover(ctx, asking); err != nil {
		return nil, "", err
	}
	if s.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, "", err
	}
	gated := rest.CopyConfig(config)
	gated.Wrap(func(next http.RoundTripper) http.RoundTripper { return s.gate.in(next) })
	if s.watch, err = dynamic.NewForConfig(gated); err != nil {
		return nil, "", err
	}
	return s, version, nil
}

// versionOf asks as the discovery client does, which would drop what the server
// says if it refuses.
func versionOf(ctx context.Context, client rest.Interface) (string, error) {
	result := client.Get().AbsPath("/version").Do(ctx)
	if err := result.Error(); err != nil {
		return "", err
	}
	body, err := result.Raw()
	if err != nil {
		return "", err
	}
	var answer version.Info
	if err := json.Unmarshal(body, &answer); err != nil || answer.GitVersion == "" {
		return "", fmt.Errorf("ask the server for its version: %w", errNotKubernetes)
	}
	return answer.GitVersion, nil
}
