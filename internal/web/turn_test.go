package web

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
)

// Few requests of a tenant are decoded at a time. The others wait, and another tenant's do not.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, 50)
		var ends []func()
		for range max(1, runtime.GOMAXPROCS(0)/2) {
			end, err := b.Share("alice").Turn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, end)
		}
		end, err := b.Share("bob").Turn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		end()
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		waited := make(chan error)
		wait := func() { end, err = b.Share("alice").Turn(ctx); waited <- err }
		go wait()
		synctest.Wait()
		ends[0]()
		if err := <-waited; err != nil {
			t.Error(err)
		}
		go wait()
		synctest.Wait()
		cancel(gone)
		if err := <-waited; !errors.Is(err, gone) {
			t.Errorf("a client that left waits: %v", err)
		}
	})
}

// A turn of every request is forgotten in the end.
func TestTurnsEnd(t *testing.T) {
	b := NewBudget(100, 50)
	end, err := b.Share("alice").Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	end()
	if len(b.turns) != 0 {
		t.Errorf("%d tenants are left", len(b.turns))
	}
}
