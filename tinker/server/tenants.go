package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// tenants answers GET /tenants: who uses the server, and how much. It is for operators: a key that was made for one,
// or every local client where no key is demanded, as for the metrics.
func (s *Server) tenants(c *call) (any, error) {
	if s.edge.keyed() {
		if _, operator := s.opts.Access.Keys.Owner(c.tenant); !operator {
			return nil, status(http.StatusForbidden, "this key may not see the tenants of the server; a key that may "+
				"is made with trinity serve key add NAME --operator")
		}
	}
	all := map[string]*tenantUse{}
	at := func(tenant string) *tenantUse {
		u := all[tenant]
		if u == nil {
			u = &tenantUse{Tenant: owner(tenant)}
			all[tenant] = u
		}
		return u
	}
	s.stats.activity.read(at)
	s.owned(at)
	for tenant, u := range all {
		_, own := s.capacity.training.now(tenant)
		u.TrainingWaiting = own.requests
		_, own = s.capacity.sampling.now(tenant)
		u.SamplesWaiting = own.requests
		if s.opts.Access.Keys != nil {
			u.Name, _ = s.opts.Access.Keys.Owner(tenant)
		}
	}
	byName := func(a, b *tenantUse) int { return strings.Compare(a.Tenant, b.Tenant) }
	return map[string]any{"tenants": slices.SortedFunc(maps.Values(all), byName)}, nil
}

// owned counts what the tenants have.
func (s *Server) owned(at func(tenant string) *tenantUse) {
	s.state.Lock()
	defer s.state.Unlock()
	t := s.state
	for _, u := range t.sessions {
		one := at(u.Tenant)
		if u.Finished == "" {
			one.Sessions++
		}
	}
	for _, m := range t.models {
		if u := t.sessions[m.Session]; u != nil {
			at(u.Tenant).TrainingRuns++
		}
	}
	for id := range t.samplers {
		if tenant := t.tenantOf(id); tenant != "" {
			at(tenant).Samplers++
		}
	}
	for tenant, k := range t.kept {
		if tenant != "" { // results of an earlier process whose sampler is gone
			at(tenant).KeptBytes = k.bytes
		}
	}
}
