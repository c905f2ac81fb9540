package weights

import (
	"testing"

	"pgregory.net/rapid"
)

// After any sequence of reserve, share and release, no tenant has more than the rules allow, and in the end nothing is
// accounted for.
func TestMemory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := New(Options{Total: 800})
		users := map[string]int{}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			owner, name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "owner"),
				rapid.SampledFrom([]string{"p", "q", "r", "s", "t", "u"}).Draw(rt, "name")
			if rapid.Bool().Draw(rt, "release") {
				m.Release(name)
				users[name] = max(0, users[name]-1)
				continue
			}
			used, own := m.Now(owner)
			n := rapid.Int64Range(1, 400).Draw(rt, "bytes")
			err := m.share(owner, name, "it", n)
			switch {
			case users[name] > 0 && err != nil:
				rt.Fatalf("one more user of %s: %v", name, err)
			case users[name] == 0 && err == nil && used+n > 600 && (used+n > 800 || own+n > 100):
				rt.Fatalf("%s had %d of %d used and got %d more", owner, own, used, n)
			}
			if err == nil {
				users[name]++
			}
		}
		for name, n := range users {
			for range n {
				m.Release(name)
			}
		}
		if used, _ := m.Now("a"); used != 0 || len(m.owners)+len(m.parts) != 0 {
			rt.Fatalf("in the end %d bytes are accounted for: %v %v", used, m.owners, m.parts)
		}
	})
}
