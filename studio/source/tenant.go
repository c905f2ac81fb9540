package source

import (
	"context"
	"fmt"
	"time"
)

// tenant is one of a server's GET /tenants.
type tenant struct {
	Tenant   string           `json:"tenant"`
	Name     string           `json:"name"`
	Sessions int              `json:"sessions"`
	Runs     int              `json:"training_runs"`
	Samplers int              `json:"samplers"`
	Training int              `json:"training_requests_waiting"`
	Samples  int              `json:"samples_waiting"`
	Requests int64            `json:"requests"`
	Tokens   map[string]int64 `json:"tokens"`
	Last     time.Time        `json:"last_request_time"`
}

// tenants are those that the key may see. Other servers have no such list, and a key may not be an operator's.
func (t *Tinker) tenants(ctx context.Context) []tenant {
	var list struct {
		Tenants []tenant `json:"tenants"`
	}
	if t.get(ctx, "/tenants", &list) != nil {
		return nil
	}
	return list.Tenants
}

// name is the key's name, or the tenant's.
func (t tenant) name() string {
	if t.Name != "" {
		return t.Name
	}
	return t.Tenant
}

func (t tenant) String() string {
	text := fmt.Sprintf("%d sessions, %d training runs, %d samplers; %d training requests and %d samples wait; %d "+
		"requests since the server began", t.Sessions, t.Runs, t.Samplers, t.Training, t.Samples, t.Requests)
	if !t.Last.IsZero() {
		text += ", the last at " + t.Last.UTC().Format(time.DateTime)
	}
	return text
}

// readings adds the tenant's queues, and its tokens as a rate, to the server's.
func (t tenant) readings(now map[string]float64) {
	now["tenants/training_waiting/"+t.name()] = float64(t.Training)
	now["tenants/samples_waiting/"+t.name()] = float64(t.Samples)
	for phase, n := range t.Tokens {
		now["tenants/tokens_total/"+phase+"/"+t.name()] = float64(n)
	}
}
