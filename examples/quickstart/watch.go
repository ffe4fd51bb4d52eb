package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// keepWatching prints a status line every now and then, and a line when trouble
// begins and when it is over, until ctx ends, which is no failure.
func keepWatching(ctx context.Context, settings settings, site *site, informers *fleet, out *printer) error {
	watching, cancel := informers.bind(ctx)
	defer cancel()
	if !site.real() {
		url, err := site.server.Listen(watching, "127.0.0.1:0")
		if err != nil {
			return err
		}
		out.say("now change something yourself: kubectl --server %s get deployments --all-namespaces", url)
	}
	out.say("watching until interrupted (Ctrl-C)")
	ticker := time.NewTicker(settings.every)
	defer ticker.Stop()
	var current episode
	for isDue := false; ; {
		now := informers.trouble()
		if news := current.next(now); news != "" {
			out.say("%s", news) // before a status line that would give it away
		}
		if isDue {
			out.say("%s", informers.status(now))
		}
		isDue = false
		select {
		case <-informers.moved:
		case <-ticker.C:
			isDue = true
		case <-watching.Done():
			if ctx.Err() == nil {
				return context.Cause(watching) // an informer gave up
			}
			out.say("interrupted; %s", informers.status(informers.trouble()))
			return nil
		}
	}
}

// status is all informers on one line, with the trouble that there is.
func (f *fleet) status(now trouble) string {
	var objects int
	var reconnects, relists int64
	var oldest, newest uint64
	var lastEvent time.Time
	for i, m := range f.members {
		status := m.informer.Status()
		objects += status.Objects
		reconnects += status.Reflector.Reconnects
		for _, number := range status.Reflector.Relists {
			relists += number
		}
		version, _ := strconv.ParseUint(status.ResourceVersion, 10, 64) // 0 before the sync
		if newest = max(newest, version); i == 0 || version < oldest {
			oldest = version
		}
		if status.Reflector.LastEvent.After(lastEvent) {
			lastEvent = status.Reflector.LastEvent
		}
	}
	age := "no event yet"
	if !lastEvent.IsZero() {
		age = fmt.Sprintf("last event %v ago", time.Since(lastEvent).Round(100*time.Millisecond))
	}
	text := fmt.Sprintf("%s of %s, resourceVersions %d–%d, %s, %d reconnects, %d syncs",
		count(objects, "object"), count(len(f.members), "kind"), oldest, newest, age, reconnects, relists)
	if now.informers > 0 {
		text += "; " + now.String()
	}
	return text
}
