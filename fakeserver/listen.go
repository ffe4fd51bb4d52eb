package fakeserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Listen serves the API over TCP and returns the base URL, such as
// "http://127.0.0.1:34567". The address is "host:port"; port 0 takes a free one, and
// an empty host means 127.0.0.1: name another one, such as 0.0.0.0, to be reachable
// from elsewhere, and remember that there is no authentication. For an address that
// means all of the machine's, the URL names the loopback one. It may be called several
// times. When ctx ends no more connections are taken; those that are open are served
// on, until the server is closed.
//
// Errors: an address that is not host:port or cannot be bound; ErrClosed.
func (s *Server) Listen(ctx context.Context, address string) (string, error) {
	hostname, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("fakeserver: listen: %q is not host:port: %w", address, err)
	}
	if hostname == "" {
		hostname = "127.0.0.1"
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(hostname, port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return "", fmt.Errorf("fakeserver: listen on %s: the port is in use; choose another one, or 0 for any: %w", address, err)
	}
	if err != nil {
		return "", fmt.Errorf("fakeserver: listen on %s: %w", address, err)
	}
	started := s.serve("fakeserver TCP listener", listener)
	started = started && s.workers.Go("fakeserver TCP listener's end", func(closing context.Context) {
		select {
		case <-ctx.Done():
		case <-closing.Done():
		}
		_ = listener.Close()
	})
	if !started {
		_ = listener.Close()
		return "", fmt.Errorf("fakeserver: listen on %s: %w", address, ErrClosed)
	}
	return "http://" + reachable(listener.Addr().(*net.TCPAddr)), nil
}

// reachable is an address of this machine under which a listener is reached.
func reachable(address *net.TCPAddr) string {
	ip := address.IP
	if ip.IsUnspecified() {
		ip = net.IPv4(127, 0, 0, 1)
	}
	return net.JoinHostPort(ip.String(), strconv.Itoa(address.Port))
}
