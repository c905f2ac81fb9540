package load

import (
	"context"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Trip measures round trips of one training run: one request at a time, of one datum.
type Trip struct {
	tokens int
	run    tinker.TrainingClient
	seq    int64
	Times  Times
}

// Trip starts a run for round trips with a datum of that many tokens.
func (l *Load) Trip(ctx context.Context, tokens int) (*Trip, error) {
	m, err := l.run(ctx)
	return &Trip{tokens: tokens, run: m}, err
}

// Go makes n round trips: submit a forward_backward, wait for its result.
func (t *Trip) Go(ctx context.Context, n int) error {
	for range n {
		t.seq++
		begun := time.Now()
		f, err := t.run.ForwardBackward(ctx, batch(t.seq, t.tokens, 0))
		if err != nil {
			return err
		}
		o, err := f.Wait(ctx)
		if err != nil {
			return err
		}
		t.Times.Add(time.Since(begun))
		if err := check(o, t.tokens); err != nil {
			return err
		}
	}
	return nil
}
