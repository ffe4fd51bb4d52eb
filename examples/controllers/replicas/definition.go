package main

import (
	"context"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
	"github.com/listwatch/listwatch/reflector"
)

// observe is called by the reflectors after each failure. The server answers 404 to
// who lists or watches a resource that it does not serve.
func (c *controller) observe(status reflector.Status) {
	if status.Tries == 0 || status.HTTPStatus != http.StatusNotFound {
		return
	}
	select {
	case c.missing <- struct{}{}:
	default: // it is to be looked at already
	}
}

// keepDefinition sees to it that the server serves ConfigSets, or says that it does
// not, until ctx ends. A definition may go at any time: somebody deletes it, or the
// server comes back without its data. So the server itself is asked, at the beginning
// of a term and whenever it says that it has no ConfigSets. A cache of definitions is
// no witness: it may be of the server's former life, with nothing to tell it so.
func (t *term) keepDefinition(ctx context.Context) {
	if !t.install {
		t.reportDefinition(ctx)
		return
	}
	pause := firstRetry
	first := true
	for {
		created, err := configset.Install(ctx, t.config)
		missing, retry := t.missing, time.NewTimer(pause)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			t.log.Warn("cannot install the definition of ConfigSets, trying again", "in", pause, "err", err)
			missing = nil // that is known
			pause = min(2*pause, lastRetry)
		default:
			retry.Stop()
			pause = firstRetry
			if first || created {
				t.log.Info("ConfigSets are served", "installed", created)
			}
			first = false
		}
		select {
		case <-missing:
		case <-retry.C:
		case <-ctx.Done():
		}
		retry.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// reportDefinition says when ConfigSets are not served, and when they are again.
func (t *term) reportDefinition(ctx context.Context) {
	for {
		select {
		case <-t.missing:
		case <-ctx.Done():
			return
		}
		if t.setCache.Status().Synced { // not for long enough to be sure, or over
			continue
		}
		t.log.Warn("ConfigSets are not served: waiting for somebody to install their definition", "definition", configset.DefinitionName)
		if t.setCache.WaitForSync(ctx) == nil {
			t.log.Info("ConfigSets are served")
		}
	}
}
