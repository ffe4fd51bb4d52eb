package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// healthCheck is the one that there is: whoever answers is well.
const healthCheck = "ping"

// serveHealth answers the paths of health checks, whatever the method, and
// reports whether the path was one.
func serveHealth(w http.ResponseWriter, r *http.Request) bool {
	endpoint, check, single := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	if !slices.Contains([]string{"healthz", "livez", "readyz"}, endpoint) || single && check != healthCheck {
		return false
	}
	query := r.URL.Query()
	if single || !query.Has("verbose") {
		sendText(w, http.StatusOK, "ok")
		return true
	}
	var text strings.Builder
	excluded := query["exclude"]
	if slices.Contains(excluded, healthCheck) {
		fmt.Fprintf(&text, "[+]%s excluded: ok\n", healthCheck)
	} else {
		fmt.Fprintf(&text, "[+]%s ok\n", healthCheck)
	}
	if unknown := without(excluded, healthCheck); len(unknown) > 0 {
		fmt.Fprintf(&text, "warn: some health checks cannot be excluded: no matches for %q\n", unknown[0])
	}
	fmt.Fprintf(&text, "%s check passed\n", endpoint)
	sendText(w, http.StatusOK, text.String())
	return true
}
