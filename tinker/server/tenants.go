package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/stats"
)

// tenants answers GET /tenants: who uses the server, and how much. It is for operators: a key that was made for one,
// or every local client where no key is demanded, as for the metrics.
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
