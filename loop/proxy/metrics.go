package proxy

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// count is one number of /metrics: its name in Prometheus' format, and in Trinity-RFT's JSON.
type count struct {
	name, kind, help string
	key              string // in JSON
	value            float64
}

// metrics answers in Prometheus' format, or as JSON if the client accepts that by name.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	list, err := s.counts(r.Context())
	if err != nil {
		s.handler.fail(w, err)
		return
	}
	if strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "application/json") {
		byKey := map[string]float64{}
		for _, c := range list {
			byKey[c.key] = c.value
		}
		reply(w, http.StatusOK, byKey)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	for _, c := range list {
		fmt.Fprintf(w, "# HELP %[1]s %[2]s\n# TYPE %[1]s %[3]s\n%[1]s %[4]g\n", c.name, c.help, c.kind, c.value)
	}
}

func (s *Server) counts(ctx context.Context) ([]count, error) {
	total, ready, err := s.History.Counts(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	version := s.version
	s.mu.RUnlock()
	s.committing.Lock()
	defer s.committing.Unlock()
	return []count{
		{"trinity_proxy_requests_total", "counter", "Requests to sample.", "rollout/model_0/total_request_count",
			float64(s.asked.Load())},
		{"trinity_proxy_model_version", "gauge", "Version of the weights that requests sample from.",
			"rollout/model_0/model_version", float64(version)},
		{"trinity_proxy_experiences_total", "counter", "Answers recorded.", "rollout/total_experience_count",
			float64(total)},
		{"trinity_proxy_experiences_ready", "gauge", "Answers with a reward that are not committed.",
			"rollout/ready_experience_count", float64(ready)},
		{"trinity_proxy_explore_step", "gauge", "Steps committed.", "explore_step_num", float64(s.step)},
	}, nil
}
