package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/compute"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/training"
)

// A pass that nobody wants any more ends between two layers; one that somebody wants does not.
func TestUnwantedPassEnds(t *testing.T) {
	e := open(t, Options{})
	r := create(t, e, 0, lora(4)).(*training.Run)
	because := errors.New("not wanted")
	for _, wanted := range []bool{true, false} {
		ctx, cancel := context.WithCancelCause(testContext(t))
		layers := 0
		between := e.loop.Runner.Between
		e.loop.Runner.Between = func() error {
			if layers++; layers == 1 && !wanted {
				cancel(because)
			}
			return between()
		}
		l, items, err := compute.Check("m", r.Base, batch(mixed...))
		if err != nil {
			t.Fatal(err)
		}
		part := compute.NewMember("m", "", false)
		err = e.loop.Run(ctx, part, r.Version, l, items, nil)
		e.loop.Idle(part)
		e.loop.Runner.Between = between
		if wanted && err != nil || !wanted && (!errors.Is(err, because) || layers > 2) {
			t.Errorf("wanted %v: %v after %d layers", wanted, err, layers)
		}
		cancel(nil)
	}
	f, err := r.Forward(testContext(t), batch(mixed...))
	value(t, f, err)
}
