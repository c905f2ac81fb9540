package process

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// thing is what is kept in tests.
type thing struct {
	number     int
	dead, shut bool
}

func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened []*thing
		failing := false
		k := &Kept[*thing]{
			Open: func(ctx context.Context) (*thing, error) {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				if failing {
					return nil, errors.New("failed")
				}
				opened = append(opened, &thing{number: len(opened)})
				return opened[len(opened)-1], nil
			},
			Alive: func(x *thing) bool { return !x.dead },
			Shut:  func(x *thing) { x.shut = true },
		}
		get := func(want int) {
			t.Helper()
			x, err := k.Get(t.Context())
			if err != nil || x.number != want || k.Current() != x {
				t.Errorf("got %+v, %v; want number %d", x, err, want)
			}
		}
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := k.Get(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		get(0) // the opening does not end with the first caller
		get(0)
		opened[0].dead = true
		get(1)
		if !opened[0].shut {
			t.Error("a dead one is not shut")
		}
		k.Drop(opened[0]) // another call did
		get(1)
		k.Drop(opened[1])
		if !opened[1].shut || k.Current() != nil {
			t.Error("a dropped one is kept")
		}
		failing = true
		if _, err := k.Get(t.Context()); err == nil || err.Error() != "failed" {
			t.Error(err)
		}
		failing = false
		get(2)
		k.Close()
		if _, err := k.Get(t.Context()); err != ErrClosed || !opened[2].shut {
			t.Errorf("after Close: %v", err)
		}
	})
}

// TestKeptCloses ends an opening.
func TestKeptCloses(t *testing.T) {
	k := &Kept[*thing]{Open: func(ctx context.Context) (*thing, error) { <-ctx.Done(); return nil, ctx.Err() }}
	failed := make(chan error)
	go func() { _, err := k.Get(context.Background()); failed <- err }()
	k.Close()
	if err := <-failed; !errors.Is(err, context.Canceled) && err != ErrClosed {
		t.Error(err)
	}
}
