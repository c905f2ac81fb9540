package engine

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Tenants that always want both sides get equal time, and so do their two sides, however long their parts are. A
// tenant that comes later begins at the least time of the others, and in the end no tenant is active.
func TestClock(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var c clock
		owners := []string{"a", "b"}
		parts := map[string][2]time.Duration{}
		longest := time.Duration(0)
		for _, o := range owners {
			c.enter(forSamples, o)
			c.enter(forTraining, o)
			var p [2]time.Duration
			for s := range p {
				p[s] = time.Duration(rapid.Int64Range(1, 1000).Draw(rt, "part"))
				longest = max(longest, p[s])
			}
			parts[o] = p
		}
		now := side(0)
		for range 3000 {
			o := c.least(now, owners)
			c.charge(now, parts[o][now], o)
			if c.yields(now, c.least(now, owners)) {
				now = other(now)
			}
		}
		a, b := c.owners["a"], c.owners["b"]
		if d := (a.total - b.total).Abs(); d > 2*longest {
			rt.Fatalf("one had %v, the other %v; parts of at most %v", a.total, b.total, longest)
		}
		least := min(a.total, b.total)
		c.enter(forSamples, "late")
		if late := c.owners["late"]; late.total != least {
			rt.Fatalf("a newcomer begins at %v, the least of the others is %v", late.total, least)
		}
		if !c.yields(forTraining, "a") {
			rt.Fatal("training of a tenant that had more does not yield to a new tenant's sample")
		}
		for _, o := range owners {
			c.leave(forSamples, o)
			c.leave(forTraining, o)
		}
		if c.waiting(forSamples) != 1 || c.waiting(forTraining) != 0 {
			rt.Fatal("of the requests, one sample is left")
		}
		c.leave(forSamples, "late")
		if len(c.owners) > 0 {
			rt.Fatalf("%d are present when all have left", len(c.owners))
		}
	})
}
