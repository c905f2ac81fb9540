package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/stats"
)

// tenants answers GET /tenants: who uses the server, and how much. It is for operators: a key that was made for one,
// or every local client if no key is demanded, as for the metrics.
func (s *Server) tenants(c *edge.Call) (any, error) {
	if s.edge.Keyed() {
		if _, operator := s.opts.Access.Keys.Owner(c.Tenant); !operator {
			return nil, edge.Status(http.StatusForbidden, "this key may not see the tenants of the server; a key that "+
				"may is made with trinity serve key add NAME --operator")
		}
	}
	all := map[string]*stats.TenantUse{}
	at := func(tenant string) *stats.TenantUse {
		u := all[tenant]
		if u == nil {
			u = &stats.TenantUse{Tenant: stats.Owner(tenant)}
			all[tenant] = u
		}
		return u
	}
	s.stats.Activity.Read(at)
	s.owned(at)
	for tenant, u := range all {
		_, own := s.capacity.Training.Now(tenant)
		u.TrainingWaiting = own.Requests
		_, own = s.capacity.Sampling.Now(tenant)
		u.SamplesWaiting = own.Requests
		if s.opts.Access.Keys != nil {
			u.Name, _ = s.opts.Access.Keys.Owner(tenant)
		}
	}
	byName := func(a, b *stats.TenantUse) int { return strings.Compare(a.Tenant, b.Tenant) }
	return map[string]any{"tenants": slices.SortedFunc(maps.Values(all), byName)}, nil
}

// owned counts what the tenants have.
func (s *Server) owned(at func(tenant string) *stats.TenantUse) {
	s.state.Lock()
	defer s.state.Unlock()
	t := s.state
	for _, u := range t.Sessions {
		one := at(u.Tenant)
		if u.Finished == "" {
			one.Sessions++
		}
	}
	for _, m := range t.Models {
		if u := t.Sessions[m.Session]; u != nil {
			at(u.Tenant).TrainingRuns++
		}
	}
	for id := range t.Samplers {
		if tenant := t.TenantOf(id); tenant != "" {
			at(tenant).Samplers++
		}
	}
	for tenant, k := range t.Kept {
		if tenant != "" { // results of an earlier process whose sampler is gone
			at(tenant).KeptBytes = k.Bytes
		}
	}
}

// watch registers the gauges that are read at each request of /metrics.
func (s *Server) watch() {
	gauge := s.stats.Gauge
	locked := func(read func(*state.Store) int) func() float64 {
		return func() float64 { s.state.Lock(); defer s.state.Unlock(); return float64(read(s.state)) }
	}
	gauge("trinity_training_requests_waiting", "Training requests accepted and not done.",
		func() float64 { all, _ := s.capacity.Training.Now(""); return float64(all.Requests) })
	gauge("trinity_training_bytes_waiting", "Their bytes.",
		func() float64 { all, _ := s.capacity.Training.Now(""); return float64(all.Bytes) })
	gauge("trinity_request_bytes", "Memory of requests that are being read and decoded.",
		func() float64 { return float64(s.edge.Bodies.Budget().InUse()) })
	gauge("trinity_samples_waiting", "asample requests accepted and not done.",
		func() float64 { all, _ := s.capacity.Sampling.Now(""); return float64(all.Requests) })
	gauge("trinity_samples_kept", "asample requests known, done or not.",
		locked(func(t *state.Store) int { return len(t.Samples) }))
	gauge("trinity_sessions", "Sessions known.", locked(func(t *state.Store) int { return len(t.Sessions) }))
	gauge("trinity_models", "Training runs known.", locked(func(t *state.Store) int { return len(t.Models) }))
	gauge("trinity_samplers", "Sampling sessions known.", locked(func(t *state.Store) int { return len(t.Samplers) }))
	gauge("trinity_server_log_bytes", "Size of the server's own log.",
		func() float64 { return float64(s.state.Log.Size()) })
	gauge("trinity_log_cut_bytes", "Bytes of unfinished writes that this start cut off the logs.", func() float64 {
		n := s.state.Log.Cut()
		if b, ok := s.backend.(interface{ Cut() int64 }); ok {
			n += b.Cut()
		}
		return float64(n)
	})
	if b, ok := s.backend.(interface{ Evicted() (evicted, all int) }); ok {
		gauge("trinity_models_resting", "Training runs evicted from memory.",
			func() float64 { n, _ := b.Evicted(); return float64(n) })
	}
	if e, ok := s.opts.Store.(stats.Computing); ok {
		s.stats.Compute(e)
	}
}
