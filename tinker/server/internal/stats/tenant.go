package stats

import (
	"maps"
	"sync"
	"time"
)

// TenantUse is a tenant in the answer to GET /tenants.
type TenantUse struct {
	Tenant          string           `json:"tenant"`         // as the owner of training runs is named
	Name            string           `json:"name,omitempty"` // of the key, where keys have names
	Sessions        int              `json:"sessions"`       // not finished
	TrainingRuns    int              `json:"training_runs"`
	Samplers        int              `json:"samplers"`
	TrainingWaiting int              `json:"training_requests_waiting"`
	SamplesWaiting  int              `json:"samples_waiting"`
	KeptBytes       int64            `json:"kept_bytes"`       // results of samples
	Requests        int64            `json:"requests"`         // since the server began
	Tokens          map[string]int64 `json:"tokens,omitempty"` // since then, by the phase of trinity_tokens_total
	Last            time.Time        `json:"last_request_time,omitzero"`
}

// Owner is the name of a tenant that is shown.
func Owner(tenant string) string { return "key-" + tenant[:12] }

// activity counts what each tenant does while the server runs. The methods are safe for concurrent use.
type activity struct {
	mu   sync.Mutex
	Most int // tenants; beyond that, the one that was silent longest is forgotten
	of   map[string]*tenantActivity
}

type tenantActivity struct {
	requests int64
	tokens   map[string]int64
	last     time.Time
}

// mostActive bounds the tenants whose activity is counted: if no key is demanded, anybody can make one up.
const mostActive = 4096

func newActivity() *activity { return &activity{Most: mostActive, of: map[string]*tenantActivity{}} }

// request counts one of a tenant's.
func (a *activity) request(tenant string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.tenant(tenant)
	one.requests, one.last = one.requests+1, now
}

// Done counts tokens of a tenant's finished request. A request whose sampler is gone has no tenant any more.
func (a *activity) Done(tenant, phase string, tokens int) {
	if tenant == "" || tokens <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tenant(tenant).tokens[phase] += int64(tokens)
}

// tenant finds or begins a tenant's counts; a.mu is held.
func (a *activity) tenant(tenant string) *tenantActivity {
	one := a.of[tenant]
	if one != nil {
		return one
	}
	if len(a.of) >= a.Most {
		silent := ""
		for name, t := range a.of {
			if silent == "" || t.last.Before(a.of[silent].last) {
				silent = name
			}
		}
		delete(a.of, silent)
	}
	one = &tenantActivity{tokens: map[string]int64{}}
	a.of[tenant] = one
	return one
}

// Read adds the counts to the tenants.
func (a *activity) Read(at func(tenant string) *TenantUse) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for tenant, one := range a.of {
		u := at(tenant)
		u.Requests, u.Tokens, u.Last = one.requests, maps.Clone(one.tokens), one.last
	}
}
