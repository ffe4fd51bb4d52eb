package factory

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// Clients gives the client of a group and version. It may be called concurrently.
type Clients func(version schema.GroupVersion) (rest.Interface, error)

// clientsOf makes clients of one configuration as they are asked for. They share
// connections and rate limit, as those of a clientset do.
func clientsOf(config *rest.Config) (Clients, error) {
	if config == nil {
		return nil, fmt.Errorf("factory: %w: no rest.Config", ErrInvalidOptions)
	}
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if config.RateLimiter == nil && config.QPS >= 0 {
		qps, burst := config.QPS, config.Burst
		if qps == 0 {
			qps = rest.DefaultQPS
		}
		if burst <= 0 {
			burst = rest.DefaultBurst
		}
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(qps, burst)
	}
	// For answers that are errors: objects are decoded by the source.
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("factory: %w", err)
	}
	var mu sync.Mutex // guards made
	made := map[schema.GroupVersion]rest.Interface{}
	return func(version schema.GroupVersion) (rest.Interface, error) {
		mu.Lock()
		defer mu.Unlock()
		if made[version] != nil {
			return made[version], nil
		}
		config := rest.CopyConfig(config)
		config.GroupVersion, config.APIPath = &version, "/apis"
		if version.Group == "" {
			config.APIPath = "/api"
		}
		c, err := rest.RESTClientForConfigAndClient(config, client)
		if err != nil {
			return nil, err
		}
		made[version] = c
		return c, nil
	}, nil
}
