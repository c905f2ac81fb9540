package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/dispatch"
	"github.com/seed-d9ad8ee0/trinity/engine/dispatch/dispatchtest"
	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// useless is a pool whose results come with a receipt and cannot be used.
type useless struct {
	executor.Pool
	given, used atomic.Int64
}

func (u *useless) Doubted() bool { return false }
func (u *useless) Used()         { u.used.Add(1) }

func (u *useless) give(ctx context.Context) error {
	u.given.Add(1)
	executor.Note(ctx, u)
	return errors.New("what came cannot be read")
}

func (u *useless) Sample(ctx context.Context, _ executor.Version, _ executor.Sample) ([]tinker.SampledSequence, error) {
	return nil, u.give(ctx)
}

func (u *useless) Forward(ctx context.Context, _ executor.Version, _ executor.Batch) ([]executor.Output, error) {
	return nil, u.give(ctx)
}

func (u *useless) Gradient(ctx context.Context, _ executor.Version, b executor.Batch) ([]executor.Output,
	executor.Gradient, error) {
	u.give(ctx)
	return make([]executor.Output, len(b.Data)), executor.Gradient{{1}}, nil // of other tensors than the model's
}

// Results that are not used are not told to be: otherwise a machine that sends garbage, once it is found to be wrong,
// makes the head say that the job has used it.
func TestReceiptsAreOfWhatIsUsed(t *testing.T) {
	models := map[string]engine.Model{engine.BaseName: {Dir: engine.WriteModel(t, true, true),
		Tokens: engine.Letters{}}}
	want := history(t, open(t, models, nil, false), 8, losses...)
	pool := &useless{Pool: dispatch.New(dispatchtest.New(t, newWorkers(t, 2, "")...), 1)}
	e := engine.OpenEngine(t, engine.Options{Models: models, Threads: 2, Pool: pool})
	e.SetPart(partTokens)
	if d := want.differs(history(t, e, 8, losses...)); d != "" {
		t.Errorf("other bits: %s", d)
	}
	if pool.given.Load() == 0 || pool.used.Load() != 0 {
		t.Errorf("%d of %d results that cannot be used are told to be used", pool.used.Load(), pool.given.Load())
	}
}
