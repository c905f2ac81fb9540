package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/stats"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// tenantsOf asks for the tenants of a rig's server.
func tenantsOf(r *rig) map[string]stats.TenantUse {
	r.t.Helper()
	code, _, raw := r.send("GET", "/tenants", nil)
	var list struct{ Tenants []stats.TenantUse }
	if err := json.Unmarshal(raw, &list); err != nil || code != http.StatusOK {
		r.t.Fatalf("%d %s (%v)", code, raw, err)
	}
	all := map[string]stats.TenantUse{}
	for _, u := range list.Tenants {
		all[u.Tenant] = u
	}
	return all
}

// use is what a tenant has and did, once tokens of a phase are counted, which may be after their answer.
func use(r *rig, tenant, phase string) (u stats.TenantUse) {
	eventually(r.t, func() string {
		u = tenantsOf(r)[tenant]
		return unless(u.Tokens[phase] > 0 && u.TrainingWaiting == 0, fmt.Sprintf("%+v", u))
	})
	return u
}

// What tenants have and did is counted for each of them; a restart keeps what they have.
func TestTenants(t *testing.T) {
	r := newTunedRig(t, Options{Models: Models{Tokenizers: map[string]string{"tiny": shippedModel}},
		Access: Access{Keys: keyList{HashKey("tml-alice"), HashKey("tml-bob"), HashKey("tml-ops")}}}, shipped)
	session := r.session()
	m := r.model(session, 0)
	r.output(r.promise("/forward_backward", batch(m, 1, false)))
	r.samples(r.promise("/asample", asample(r.sampler(session, 0, map[string]any{"base_model": "tiny"}), 0, nil)))
	bob := r.as("tml-bob")
	body := rawJSON(`{"model":"tiny","prompt":[5,6],"max_tokens":3}`)
	var answer struct {
		Usage struct {
			Drawn int64 `json:"completion_tokens"`
		}
	}
	if code, _, raw := bob.send("POST", "/v1/completions", body); code != http.StatusOK ||
		json.Unmarshal(raw, &answer) != nil || answer.Usage.Drawn == 0 {
		t.Fatalf("%d %s", code, raw)
	}
	code, _, raw := bob.send("GET", "/tenants", nil)
	if code != http.StatusForbidden || !strings.Contains(string(raw), "--operator") {
		t.Errorf("another tenant may see all of them: %d %s", code, raw)
	}
	ops := r.as("tml-ops")
	alices, bobs := stats.Owner(TenantOf("tml-alice")), stats.Owner(TenantOf("tml-bob"))
	u := use(ops, alices, "forward_backward")
	if u.Sessions != 1 || u.TrainingRuns != 1 || u.Samplers != 1 || u.KeptBytes == 0 || u.TrainingWaiting != 0 ||
		u.Tokens["forward_backward"] == 0 || u.Tokens["sample"] == 0 || u.Tokens["prompt"] == 0 || u.Requests < 6 ||
		time.Since(u.Last).Abs() > time.Hour {
		t.Errorf("a tenant that trained and sampled: %+v", u)
	}
	u = use(ops, bobs, "prompt")
	if u.Requests != 2 || u.Sessions != 0 || u.Tokens["sample"] != answer.Usage.Drawn || u.Tokens["prompt"] != 2 {
		t.Errorf("a tenant that sampled without a session: %+v", u)
	}
	if u = tenantsOf(ops)[stats.Owner(TenantOf("tml-ops"))]; u.Name != "ops" {
		t.Errorf("a key with a name: %+v", u)
	}
	r.post("/sessions/"+session+"/finish", map[string]any{"reason": map[string]any{"type": "success"}}, nil)
	r.restart()
	if u = tenantsOf(r.as("tml-ops"))[alices]; u.Sessions != 0 || u.TrainingRuns != 1 || u.Requests != 0 {
		t.Errorf("after a restart: %+v", u)
	}
}

// Where no key is demanded, every caller is a local one, and their number is bounded.
func TestTenantsOfALocalServer(t *testing.T) {
	r := newRig(t, Options{})
	r.server.stats.Activity.Most = 3
	for _, key := range []string{"tml-a", "tml-b", "tml-c", "tml-d"} {
		r.clock.Add(int64(time.Second))
		r.as(key).get("/get_server_capabilities", new(wire.Capabilities))
	}
	all := tenantsOf(r.as("tml-d"))
	if _, ok := all[stats.Owner(TenantOf("tml-a"))]; ok || len(all) != 3 ||
		all[stats.Owner(TenantOf("tml-d"))].Requests != 2 {
		t.Errorf("the tenants are %+v", all)
	}
}
