package schedule

import (
	"fmt"
	"testing"
	"time"
)

// ends returns when a tenant's last task is done, in seconds, of worlds in which another tenant has many.
func ends(t *testing.T, groups bool) (few, many float64) {
	w := newWorld(t, map[string]float64{"a": 10, "b": 10})
	add := func(tenant string, n int) {
		for i := range n {
			id := fmt.Sprint(tenant, i)
			w.cost[id] = 10
			k := Task{ID: id, Kind: "k", Tenant: tenant, Cost: 10}
			if groups {
				k.Group, k.Shared = fmt.Sprint(tenant, i/8), 5
			}
			w.p.Add(k)
		}
	}
	add("many", 200)
	add("few", 10)
	begun := w.now
	w.each = func(task string) {
		if took := w.now.Sub(begun).Seconds(); task[:3] == "few" {
			few = took
		} else {
			many = took
		}
	}
	w.run()
	return few, many
}

func TestTenantsHaveEqualShares(t *testing.T) {
	for _, groups := range []bool{false, true} {
		// Two workers do two tasks a second, one of them for each tenant.
		if few, many := ends(t, groups); few > 14 || many > 110 {
			t.Errorf("groups %v: 10 tasks took %.1f s beside another's 200, which took %.1f; want 10 and 105",
				groups, few, many)
		}
	}
}

// A tenant that was away has no credit for that.
func TestBeingIdleEarnsNoCredit(t *testing.T) {
	p := New(0)
	p.Join(Worker{ID: "a", Slots: 1000})
	id := 0
	add := func(tenant string, n int) {
		for range n {
			id++
			p.Add(Task{ID: fmt.Sprint(id), Kind: "k", Tenant: tenant, Cost: 1})
		}
	}
	add("long", 500)
	for range 10 {
		p.Pump(time.Unix(0, 0))
	}
	add("late", 10)
	if late, long := p.tenants["late"].given, p.tenants["long"].given; late != long {
		t.Errorf("the late tenant begins at %v, the other is at %v", late, long)
	}
	for i := range id {
		p.Done(fmt.Sprint(i+1), time.Unix(0, 0))
	}
	if len(p.tenants) > 0 || len(p.active) > 0 {
		t.Errorf("%d tenants are left", len(p.tenants))
	}
}
