package fakeserver

// Options configure New. The zero value is a server with all built-in
// resources and nothing listening.
type Options struct {
	// Steer serves the steering calls under /-/ over HTTP as well:
	// POST /-/compact and POST /-/drop-watches. Whoever reaches the server can
	// then disturb it, so it is off by default.
	Steer bool
}
