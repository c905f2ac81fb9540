package fair

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
			c.Enter(ForSamples, o)
			c.Enter(ForTraining, o)
			var p [2]time.Duration
			for s := range p {
				p[s] = time.Duration(rapid.Int64Range(1, 1000).Draw(rt, "part"))
				longest = max(longest, p[s])
			}
			parts[o] = p
		}
		now := side(0)
		for range 3000 {
			o := c.Least(now, owners)
			c.Charge(now, parts[o][now], o)
			if c.yields(now, c.Least(now, owners)) {
				now = other(now)
			}
		}
		a, b := c.owners["a"], c.owners["b"]
		if d := (a.total - b.total).Abs(); d > 2*longest {
			rt.Fatalf("one had %v, the other %v; parts of at most %v", a.total, b.total, longest)
		}
		least := min(a.total, b.total)
		c.Enter(ForSamples, "late")
		if late := c.owners["late"]; late.total != least {
			rt.Fatalf("a newcomer begins at %v, the least of the others is %v", late.total, least)
		}
		if !c.yields(ForTraining, "a") {
			rt.Fatal("training of a tenant that had more does not yield to a new tenant's sample")
		}
		for _, o := range owners {
			c.Leave(ForSamples, o)
			c.Leave(ForTraining, o)
		}
		if c.Waiting(ForSamples) != 1 || c.Waiting(ForTraining) != 0 {
			rt.Fatal("of the requests, one sample is left")
		}
		c.Leave(ForSamples, "late")
		if len(c.owners) > 0 {
			rt.Fatalf("%d are present when all have left", len(c.owners))
		}
	})
}
