package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Rollouts that nothing was asked of make room for others; those with calls do not.
func TestUnusedRolloutsMakeRoom(t *testing.T) {
	s := newRollouts(time.Now)
	s.begin = func(_ context.Context, id string) (*rollout, error) { return newRollout(id), nil }
	used, err := s.find(t.Context(), "used", true)
	if err == nil {
		err = s.grow(used, "answer", 1)
	}
	for i := 0; err == nil && i < mostOpen; i++ { // the last one has no place
		_, err = s.find(t.Context(), fmt.Sprint(i), true)
	}
	if err != nil || len(s.open) != 2 || s.open["used"] == nil || used.over() != nil {
		t.Errorf("%d are open, %v", len(s.open), err)
	}
	if err := s.grow(used, "b", mostBytes); !errors.Is(err, tinker.ErrBusy) {
		t.Errorf("beyond the memory: %v", err)
	}
}

// The seed of a call depends on its prompt and how often it was asked, and not on the order of calls.
func TestSeedsDoNotDependOnTheOrder(t *testing.T) {
	draw := func(prompts ...string) map[string]bool {
		r := newRollout("r")
		next := r.seeds(5)
		seen := map[string]bool{}
		for _, p := range prompts {
			ids, _ := bytesOnly(p)
			seed, err := next(askedOf(ids))
			if err != nil {
				t.Fatal(err)
			}
			seen[fmt.Sprint(p, seed)] = true
		}
		return seen
	}
	a, b := draw("x", "y", "x"), draw("y", "x", "x")
	if len(a) != 3 || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("%v and %v", a, b)
	}
}

// When two end a rollout at once, its memory is counted back once.
func TestRemovedTwiceAtOnce(t *testing.T) {
	s := newRollouts(time.Now)
	s.begin = func(_ context.Context, id string) (*rollout, error) { return newRollout(id), nil }
	for i := range 200 {
		r, err := s.find(t.Context(), fmt.Sprint(i), true)
		if err == nil {
			err = s.grow(r, "answer", 7)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.bytes = 7
		var both sync.WaitGroup
		for _, why := range []error{errRewarded(r.id), nil} {
			both.Go(func() { s.remove(r, why) })
		}
		both.Wait()
	}
	if s.bytes != 0 || len(s.open) != 0 {
		t.Errorf("%d bytes and %d rollouts are left", s.bytes, len(s.open))
	}
}
