package main

import (
	"context"
	"time"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
	"github.com/listwatch/listwatch/indexer"
)

// keepDefinition sees to it that the server serves ConfigSets, or says that it does
// not, until ctx ends. A definition may go at any time: somebody deletes it, or the
// server comes back without its data.
func (t *term) keepDefinition(ctx context.Context) {
	pause := firstRetry
	for there := true; t.definition.WaitForSync(ctx) == nil; {
		snapshot := t.definition.Snapshot()
		changed, err := t.definition.Watch(snapshot, indexer.Key(configset.DefinitionName))
		if err != nil {
			panic(err) // there is no such query
		}
		retry := time.NewTimer(lastRetry)
		retry.Stop()
		_, found := snapshot.Get(configset.DefinitionName)
		switch {
		case found && !there && !t.install:
			t.log.Info("ConfigSets have a definition")
		case !found && there && !t.install:
			t.log.Warn("ConfigSets are not served: waiting for somebody to install their definition", "definition", configset.DefinitionName)
		}
		there = found
		if !found && t.install {
			created, err := configset.Install(ctx, t.config)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				t.log.Warn("cannot install the definition of ConfigSets, trying again", "in", pause, "err", err)
				retry.Reset(pause)
				pause = min(2*pause, lastRetry)
			default:
				pause = firstRetry
				t.log.Info("ConfigSets are served", "installed", created)
			}
		}
		select {
		case <-changed.Changed():
		case <-retry.C:
		case <-ctx.Done():
		}
		changed.Stop()
		retry.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}
