package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/listwatch/listwatch/reflector"
)

// trouble is what keeps informers from following the server: the most common
// cause, and whom it concerns.
type trouble struct {
	informers int
	kinds     []string // those with the cause
	cause     string
}

// String is the trouble on one line.
func (t trouble) String() string {
	const most = 3
	kinds := strings.Join(t.kinds[:min(most, len(t.kinds))], ", ")
	if more := len(t.kinds) - most; more > 0 {
		kinds += fmt.Sprintf(" and %d more", more)
	}
	text := count(t.informers, "informer") + " in trouble"
	if len(t.kinds) < t.informers {
		text += fmt.Sprintf(", %d of them", len(t.kinds))
	}
	return fmt.Sprintf("%s (%s): %s", text, kinds, t.cause)
}

// trouble looks at all informers. Of causes that are equally common it takes
// that of the first informer.
func (f *fleet) trouble() trouble {
	var all trouble
	byCause := map[string]*trouble{}
	var order []string
	for _, m := range f.members {
		status := m.informer.Status().Reflector
		if !m.inTrouble(status) {
			continue
		}
		all.informers++
		name := nameOfCause(status)
		if byCause[name] == nil {
			byCause[name] = &trouble{cause: causeOf(status)}
			order = append(order, name)
		}
		byCause[name].kinds = append(byCause[name].kinds, m.kind())
	}
	for _, name := range order {
		if found := byCause[name]; len(found.kinds) > len(all.kinds) {
			all.kinds, all.cause = found.kinds, found.cause
		}
	}
	return all
}

// inTrouble says that the last thing heard of the server was a failure. Tries
// alone would say so until something happens to an object, although the watch is
// open again.
func (m *member) inTrouble(status reflector.Status) bool {
	opened := m.opened.Load()
	follows := status.Phase == reflector.Watching && opened != nil && opened.After(status.LastErrorTime)
	return status.Tries > 0 && !follows
}

// nameOfCause is equal for equal causes. A refusal names the resource, so that
// its text differs between kinds.
func nameOfCause(status reflector.Status) string {
	if status.HTTPStatus != 0 {
		return fmt.Sprintf("%d %s", status.HTTPStatus, status.Reason)
	}
	return causeOf(status)
}

// causeOf is the last error without what differs from informer to informer and
// from try to try: the request's URL and the port it came from.
func causeOf(status reflector.Status) string {
	if status.LastError == nil {
		return "unknown"
	}
	text := status.LastError.Error()
	if request, ok := errors.AsType[*url.Error](status.LastError); ok {
		text = strings.Replace(text, request.Error(), request.Err.Error(), 1)
	}
	if network, ok := errors.AsType[*net.OpError](status.LastError); ok && network.Source != nil {
		from := *network
		from.Source = nil
		text = strings.Replace(text, network.Error(), from.Error(), 1)
	}
	text = strings.TrimPrefix(text, status.LastVerb+": ")
	if status.HTTPStatus != 0 {
		text = fmt.Sprintf("HTTP %d %s: %s", status.HTTPStatus, status.Reason, text)
	}
	return oneLine(text)
}

// episode is one time of trouble, from the first informer to the last. The zero
// value is good times.
type episode struct {
	began time.Time
	worst trouble
}

// next takes what fleet.trouble says now; it returns the line to print if
// trouble begins or is over, else "".
func (e *episode) next(now trouble) string {
	before := e.worst.informers
	if now.informers > 0 && now.informers >= before {
		e.worst = now
	}
	switch {
	case before == 0 && now.informers > 0:
		e.began = time.Now()
		return "trouble begins: " + now.String()
	case before > 0 && now.informers == 0:
		over := fmt.Sprintf("trouble is over after %v: every informer follows the server again; it was: %v",
			time.Since(e.began).Round(100*time.Millisecond), e.worst)
		*e = episode{}
		return over
	}
	return ""
}
