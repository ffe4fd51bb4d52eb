package differential

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// The commands that change a server; doc.go explains them.
var serverCommands = map[string]func(*server, []string) error{
	"put":      func(s *server, words []string) error { return s.each(words, s.put) },
	"delete":   func(s *server, words []string) error { return s.each(words, s.delete) },
	"recreate": func(s *server, words []string) error { return s.each(words, s.recreate) },
	"others":   (*server).others,
	"forget":   func(s *server, _ []string) error { s.forgotten, s.history = s.version, nil; return nil },
	"restore":  (*server).restore,
	"bookmark": func(s *server, _ []string) error {
		return s.sendAll(watch.Bookmark, s.bookmark(fmt.Sprint(s.version), false))
	},
	"send":      (*server).sendRaw,
	"close":     func(s *server, _ []string) error { s.eachStream(func(st *stream) { st.close("closed") }); return nil },
	"answer":    (*server).answer,
	"page-size": (*server).pages,
	"timeouts":  func(s *server, _ []string) error { s.timeouts = true; return nil },
	"list-only": func(s *server, _ []string) error { s.listOnly = true; return nil },
}

// each does something for every object that a command names.
func (s *server) each(words []string, do func(object)) error {
	if len(words) == 0 {
		return fmt.Errorf("which objects?")
	}
	on := ""
	if value, ok := strings.CutPrefix(words[len(words)-1], "on="); ok {
		on, words = value, words[:len(words)-1]
	}
	for _, word := range words {
		o, err := parseObject(word)
		if err != nil {
			return err
		}
		o.on = on
		do(o)
	}
	return nil
}

// put creates or changes an object.
func (s *server) put(o object) {
	old, exists := s.objects[o.key()]
	event := watch.Modified
	if !exists {
		s.uids[o.key()]++
		event = watch.Added
	}
	if o.uid != 0 {
		o.uid = s.uids[o.key()]
	}
	if o.on == "" {
		o.on = old.on
	}
	s.record(event, &o)
	s.objects[o.key()] = o
}

// delete deletes an object. The event carries the version of the deletion.
func (s *server) delete(o object) {
	old, exists := s.objects[o.key()]
	if !exists {
		return
	}
	delete(s.objects, o.key())
	s.record(watch.Deleted, &old)
}

// recreate deletes an object and makes another one of the same name.
func (s *server) recreate(o object) {
	s.delete(o)
	s.put(o)
}

// record gives a change its version, and tells the streams.
func (s *server) record(event watch.EventType, o *object) {
	s.version++
	o.version = fmt.Sprint(s.version)
	s.history = append(s.history, change{at: s.version, event: event, object: *o})
	s.eachStream(func(st *stream) { st.send(event, s.kind.object(*o)) })
}

// others lets a number of changes happen to other collections.
func (s *server) others(words []string) error {
	n, err := number(words)
	s.version += n
	return err
}

// restore goes back to an earlier version, as if from a backup. Streams end.
func (s *server) restore(words []string) error {
	n, err := number(words)
	if err != nil {
		return err
	}
	kept := s.history
	s.eachStream(func(st *stream) { st.close("closed") })
	s.version, s.history, s.objects = n, nil, map[string]object{}
	for _, c := range kept {
		if c.at > n {
			break
		}
		s.history = append(s.history, c)
		if c.event == watch.Deleted {
			delete(s.objects, c.object.key())
		} else {
			s.objects[c.object.key()] = c.object
		}
	}
	return nil
}

// pages limits pages, also those of a LIST at "0": a server without a cache.
func (s *server) pages(words []string) error {
	n, err := number(words)
	s.pageSize = int(n)
	return err
}

func number(words []string) (int64, error) {
	if len(words) != 1 {
		return 0, fmt.Errorf("want one number")
	}
	return strconv.ParseInt(words[0], 10, 64)
}

// answer adds an answer.
func (s *server) answer(words []string) error {
	if len(words) == 1 && words[0] == "normally" {
		for _, a := range s.answers {
			a.left, a.unlimited = 0, false
		}
		return nil
	}
	a, err := parseAnswer(words)
	if err == nil {
		s.answers = append(s.answers, a)
	}
	return err
}

// sendRaw puts an event into the open streams that has not happened.
func (s *server) sendRaw(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("send what?")
	}
	rest := words[1:]
	switch words[0] {
	case "ADDED", "MODIFIED", "DELETED", "UNKNOWN":
		return s.each(rest, func(o object) { _ = s.sendAll(watch.EventType(words[0]), s.kind.object(o)) })
	case "BOOKMARK", "END":
		version, err := number(rest)
		if err != nil {
			return err
		}
		return s.sendAll(watch.Bookmark, s.bookmark(fmt.Sprint(version), words[0] == "END"))
	case "ERROR":
		a, err := parseAnswer(append([]string{"watch"}, rest...))
		if err == nil {
			s.eachStream(func(st *stream) { st.fail(a.failure, a.retry) })
		}
		return err
	case "wrong-type":
		return s.sendAll(watch.Added, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: "secret", ResourceVersion: "99"}})
	case "no-metadata":
		return s.sendAll(watch.Added, &metav1.Status{})
	case "table":
		return s.sendAll(watch.Added, table("99"))
	case "nil":
		return s.sendAll(watch.Added, nil)
	}
	return fmt.Errorf("cannot send %q", words[0])
}

func (s *server) sendAll(event watch.EventType, o runtime.Object) error {
	s.eachStream(func(st *stream) { st.send(event, o) })
	return nil
}

// eachStream does something to the open streams, which may end them.
func (s *server) eachStream(do func(*stream)) {
	for _, st := range append([]*stream(nil), s.streams...) {
		do(st)
	}
}
