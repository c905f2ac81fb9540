package studio

import "net/http"

// timeline is GET /api/runs/{run}/timeline.
func (s *Studio) timeline(e *entry, w http.ResponseWriter, r *http.Request) error {
	return answer(w, map[string]any{"steps": []any{}})
}
