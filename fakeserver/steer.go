package fakeserver

import (
	"encoding/json"
	"net/http"
)

// steering serves the calls under /-/, a path that no API uses.
func (s *Server) steering() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /-/compact", func(w http.ResponseWriter, r *http.Request) {
		revision, err := s.Compact(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, map[string]int64{"compactedRevision": revision})
	})
	mux.HandleFunc("POST /-/drop-watches", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]int{"droppedWatches": s.DropWatches()})
	})
	return mux
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	// What fails here is the client's connection, which it notices itself.
	_ = json.NewEncoder(w).Encode(body)
}
