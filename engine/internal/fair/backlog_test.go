package fair

import (
	"errors"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A tenant's backlog may not exceed the remaining capacity, a new tenant finds room, and a tenant's first request may
// have any size.
func TestBacklog(t *testing.T) {
	b := NewBacklog(tinker.Queue{Requests: 12, Tokens: 1000})
	fill := func(owner string, tokens int) (n int) {
		for b.Take(owner, tokens, false) == nil {
			n++
		}
		return n
	}
	if a, c, d := fill("a", 1), fill("b", 1), fill("c", 1); a != 6 || c != 3 || d != 2 {
		t.Errorf("%d, %d and %d requests were taken, want 6, 3 and 2", a, c, d)
	}
	err := b.Take("a", 1, false)
	if !errors.Is(err, tinker.ErrBusy) || tinker.CategoryOf(err) != tinker.Server {
		t.Errorf("beyond the bound: %v", err)
	}
	if err := b.Take("a", 1, true); err != nil {
		t.Errorf("a promised one: %v", err)
	}
	for owner, n := range map[string]int{"a": 7, "b": 3, "c": 2} {
		for range n {
			b.Release(owner, 1)
		}
	}
	if b.Now() != (tinker.Queue{}) || len(b.owners) != 0 {
		t.Errorf("%+v and %d owners are left", b.Now(), len(b.owners))
	}
	if n := fill("a", 300); n != 2 { // of the 400 tokens that are left the third would be too much
		t.Errorf("%d requests of 300 tokens, want 2", n)
	}
	if err := b.Take("b", 5000, false); err != nil {
		t.Errorf("a newcomer's large request: %v", err)
	}
}
