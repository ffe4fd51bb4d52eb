package fakeserver

import (
	"k8s.io/client-go/rest"
)

// host is the name in the URLs of in-memory requests. It ends in a top-level
// domain reserved for what must never be resolved (RFC 6761).
const host = "http://fakeserver.invalid"

// Config returns a new configuration for client-go that reaches the server over
// in-memory pipes, for as long as it is not closed. All share one pool of
// connections. Client-side rate limiting is off; set QPS and Burst to have it.
func (s *Server) Config() *rest.Config {
	return &rest.Config{
		Host:      host,
		Transport: s.transport,
		QPS:       -1,
		UserAgent: rest.DefaultKubernetesUserAgent(),
	}
}
