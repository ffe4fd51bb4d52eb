package informer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"time"

	"github.com/listwatch/listwatch/reflector"
)

// page is what the template shows.
type page struct {
	inspection
	Names    []string // of all informers
	Informer string   // asked for
	Key      string   // asked for
}

// pageTemplate shows a table of informers, each of them in detail if there is
// only one, and the explanations.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"ago": ago, "size": size, "json": indented, "short": short,
}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>informers</title><style>
body{font:14px/1.4 sans-serif;margin:1em} table{border-collapse:collapse;margin:.5em 0} td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left;vertical-align:top}
.bad{background:#fdd} pre{background:#f6f6f6;padding:.5em;overflow:auto}
</style></head><body>
<h1>{{if .Informer}}<a href="?">informers</a> / {{.Informer}}{{else}}informers{{end}}</h1>
<form method="get">{{if .Informer}}<input type="hidden" name="informer" value="{{.Informer}}">{{end}}<label>Why is this key here, or not?
<input name="key" value="{{.Key}}" placeholder="namespace/name" size="40"></label> <button>explain</button></form>
{{range .Explanations}}<h2>{{.Key}} in {{.Informer}}: {{.Verdict}}</h2>
<ul>{{range .Because}}<li>{{.}}</li>{{end}}</ul>
{{end}}
<table><tr><th>informer</th><th>reads</th><th>phase</th><th>synced</th><th>resourceVersion</th><th>objects</th><th>about</th><th>queue</th><th>last event</th><th>last bookmark</th><th>trouble</th></tr>
{{range .Informers}}{{$s := .}}<tr{{if not .Synced}} class="bad"{{end}}><td><a href="?informer={{.Name}}">{{.Name}}</a></td><td>{{.Collection}}</td>
<td>{{.Phase}} since {{ago .Time .Since}}</td><td>{{.Synced}}</td><td>{{.ResourceVersion}}</td><td>{{.Objects}}</td><td>{{size .Bytes}}</td>
<td>{{.QueueDepth}}{{if .QueueDepth}}, {{short .QueueAge}} old{{end}}</td><td>{{ago $s.Time .Reflector.LastEvent}}</td><td>{{ago $s.Time .Reflector.LastBookmark}}</td>
<td>{{range .Trouble}}{{.}}<br>{{end}}</td></tr>
{{end}}</table>
{{if eq (len .Informers) 1}}{{range .Informers}}{{$s := .}}
<h2>handlers</h2><table><tr><th>handler</th><th>registered at</th><th>synced</th><th>behind</th><th>batch at hand</th><th>seen up to</th><th>calls</th><th>slowest</th><th>panics</th></tr>
{{range .Handlers}}<tr{{if .Panics}} class="bad"{{end}}><td>{{.Name}}</td><td>{{.Site}}</td><td>{{.Synced}}</td><td>{{.Depth}}</td><td>{{short .Age}}</td><td>{{.ResourceVersion}}</td><td>{{.Calls}}</td><td>{{short .Slowest}}</td><td>{{.Panics}}</td></tr>{{else}}<tr><td colspan="9">none</td></tr>{{end}}</table>
{{range .Parts}}<h2>connection {{.Name}}</h2><table>
<tr><th>phase</th><td>{{.Reflector.Phase}} since {{ago $s.Time .Reflector.Since}}</td></tr>
<tr><th>failed tries</th><td>{{.Reflector.Tries}}</td></tr>
<tr><th>last error</th><td>{{if .Reflector.LastError}}{{ago $s.Time .Reflector.LastErrorTime}}: {{.Reflector.LastError}}{{else}}none{{end}}</td></tr>
<tr><th>requests</th><td>{{.Reflector.Lists}} lists of {{.Reflector.Pages}} pages, {{.Reflector.WatchLists}} watch-lists, {{.Reflector.Watches}} watches, {{.Reflector.Reconnects}} of them reconnects</td></tr>
<tr><th>objects</th><td>{{.Reflector.Decoded}} decoded in {{short .Reflector.DecodeTime}}, {{.Reflector.Kept}} kept from lists, {{.Reflector.Skipped}} of another type{{if .Reflector.LastSkipped}}: {{.Reflector.LastSkipped}}{{end}}</td></tr>
<tr><th>relists</th><td>{{range $reason, $n := .Reflector.Relists}}{{$reason}}: {{$n}}<br>{{else}}none{{end}}</td></tr></table>
<table><tr><th>ends of streams</th><th>reason</th><th>lasted</th><th>then</th></tr>
{{range .Reflector.Recent}}<tr><td>{{ago $s.Time .Time}}</td><td>{{.Reason}}{{if .Err}}: {{.Err}}{{end}}</td><td>{{short .Lasted}}</td><td>{{if .Relist}}relist, {{.Relist}}{{else}}resumed{{end}}</td></tr>{{else}}<tr><td colspan="4">none</td></tr>{{end}}</table>
{{end}}<details><summary>everything</summary><pre>{{json .}}</pre></details>
{{end}}{{end}}</body></html>
`))

// Trouble lists in sentences what is wrong at present, and which handlers have
// panicked; nil if nothing is.
func (s Status) Trouble() []string {
	var trouble []string
	add := func(format string, args ...any) { trouble = append(trouble, fmt.Sprintf(format, args...)) }
	if s.Running && !s.Synced {
		add("not synced")
	}
	for _, part := range s.Parts {
		r, prefix := part.Reflector, ""
		if part.Name != "" {
			prefix = part.Name + ": "
		}
		// A quiet watch that is up again shows no sign of life for a while.
		if r.Tries > 0 && r.Phase != reflector.Watching {
			add("%s%s, the last: %s", prefix, failedTries(r.Tries), describe(r.LastError))
		}
		if denial, ok := denialOf(r, part.Collection); ok {
			add("%s%s", prefix, denial)
		}
	}
	if s.Transform.Standing > 0 {
		add("the transform failed for %d objects", s.Transform.Standing)
	}
	if len(s.IndexErrors) > 0 {
		add("index functions failed for objects, such as: %v", s.IndexErrors[0])
	}
	for _, h := range s.Handlers {
		if h.Panics > 0 {
			add("%d calls of handler %q (%s) panicked or ended their goroutine", h.Panics, h.Name, h.Site)
		}
	}
	return trouble
}

// ago writes how long before now t was.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return short(now.Sub(t)) + " ago"
}

// short writes a duration with two or three digits.
func short(d time.Duration) string {
	for _, unit := range []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond, time.Microsecond} {
		if d >= 10*unit {
			return d.Round(unit).String()
		}
	}
	return d.Round(time.Nanosecond).String()
}

// size writes a number of bytes with two or three digits.
func size(n int64) string {
	value, unit := float64(n), 0
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB"}
	for value >= 1000 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if unit == 0 || value >= 10 {
		return fmt.Sprintf("%.0f %s", value, units[unit])
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// indented is v as JSON for people.
func indented(v any) (string, error) {
	text, err := viewJSON(v)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = json.Indent(&b, text, "", "  ")
	return b.String(), err
}
