package lint

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTextThatMeansSomethingOnOneMachineOnly(t *testing.T) {
	// Written in two halves, or this file would break the rule.
	const root, proxy = "/" + "root/", "proxy.golang" + ".org"
	for _, c := range []struct {
		name, content string
		want          []string
	}{
		{"a path", "cd x\ncd " + root + "x", []string{"f:2: an absolute path of one machine (" + root + ")"}},
		{"a path at the start", root + "x", []string{"f:1: an absolute path of one machine (" + root + ")"}},
		{"a path in quotes", `"/` + `tmp/x"`, []string{`f:1: an absolute path of one machine ("/` + `tmp/)`}},
		{"a proxy", "GOPROXY=https://" + proxy, []string{"f:1: the host of a package proxy (" + proxy + ")"}},
		{"part of a longer path", "example.org" + root + "x ./" + "tmp/x ../" + "work/y", nil},
		{"another host", "golang.org and /rooted/ and /usr/bin", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range textFindings(Text{Path: "f", Content: c.content}) {
				got = append(got, fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.What))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
