package engine

import (
	"context"
	"errors"
	"testing"
)

// A pass that nobody wants any more ends between two layers; one that somebody wants does not.
func TestUnwantedPassEnds(t *testing.T) {
	e := open(t, Options{})
	r := create(t, e, 0, lora(4)).(*trainingRun)
	because := errors.New("not wanted")
	for _, wanted := range []bool{true, false} {
		ctx, cancel := context.WithCancelCause(testContext(t))
		layers := 0
		between := e.loop.runner.Between
		e.loop.runner.Between = func() error {
			if layers++; layers == 1 && !wanted {
				cancel(because)
			}
			return between()
		}
		l, items, err := check("m", r.base, batch(mixed...))
		if err != nil {
			t.Fatal(err)
		}
		part := newMember("m", "", false)
		err = e.loop.run(ctx, part, r.version, l, items, nil)
		e.loop.idle(part)
		e.loop.runner.Between = between
		if wanted && err != nil || !wanted && (!errors.Is(err, because) || layers > 2) {
			t.Errorf("wanted %v: %v after %d layers", wanted, err, layers)
		}
		cancel(nil)
	}
	f, err := r.Forward(testContext(t), batch(mixed...))
	value(t, f, err)
}
