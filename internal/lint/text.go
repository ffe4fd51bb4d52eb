package lint

import (
	"regexp"
	"strings"
)

// machinePath matches an absolute path that exists on somebody's machine only.
// It is not written as one, or this file would break its own rule.
var machinePath = regexp.MustCompile(`(?:^|[^\w.\-/])/(?:root|work|tmp|home)/`)

// proxyHost matches the hosts of package proxies and registries.
var proxyHost = regexp.MustCompile(`\b(?:proxy\.golang\.[o]rg|sum\.golang\.[o]rg|goproxy\.(?:io|cn)|registry\.npmjs\.[o]rg|pypi\.[o]rg|` +
	`files\.pythonhosted\.[o]rg|artifactory\.)`)

// textFindings finds text in a file of any kind that means something on one
// machine or in one network only.
func textFindings(text Text) []Finding {
	var found []Finding
	for i, line := range strings.Split(text.Content, "\n") {
		if m := machinePath.FindString(line); m != "" {
			found = append(found, Finding{Path: text.Path, Line: i + 1, What: "an absolute path of one machine (" + strings.TrimSpace(m) + ")",
				Instead: "use a relative path, t.TempDir or mktemp"})
		}
		if m := proxyHost.FindString(line); m != "" {
			found = append(found, Finding{Path: text.Path, Line: i + 1, What: "the host of a package proxy (" + m + ")",
				Instead: "leave it to the reader's GOPROXY"})
		}
	}
	return found
}
