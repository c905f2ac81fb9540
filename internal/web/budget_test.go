package web

import (
	"errors"
	"net/http"
	"testing"
)

// One tenant's bodies leave room for another's, and memory is reserved as bytes arrive.
func TestBodiesShareOneBudget(t *testing.T) {
	b := NewBudget(1000, 400)
	alice, bob := b.Share("alice"), b.Share("bob")
	if err := alice.Take(400); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		who  *Share
		n    int64
		want int
	}{{alice, 1, http.StatusRequestEntityTooLarge}, {b.Share("alice"), 1, http.StatusServiceUnavailable}, {bob, 301,
		http.StatusServiceUnavailable},
		{bob, 300, 0}, {b.Share("carol"), 151, http.StatusServiceUnavailable}, {b.Share("carol"), 501,
			http.StatusRequestEntityTooLarge}} {
		err := tt.who.Take(tt.n)
		if (err == nil) != (tt.want == 0) || err != nil && statusOf(err) != tt.want {
			t.Errorf("%s takes %d: %v, want %d", tt.who.tenant, tt.n, err, tt.want)
		}
	}
	alice.Release()
	bob.Release()
	if b.used != 0 || len(b.own) != 0 {
		t.Errorf("after all is released: %d, %v", b.used, b.own)
	}
}

// statusOf is the status of an error, 0 if it has none.
func statusOf(err error) int {
	var p *Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}
