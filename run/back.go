package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// goBacks is how often in a row a run goes back to the same saved state.
const goBacks = 5

// goingBack runs a configuration, and once more whenever the server lost what the run had there: a start on a server goes on behind
// the last saved state, whether the process or the server was restarted.
func goingBack(ctx context.Context, cfg *config.Config, backend config.Backend, o Options) (*Summary, error) {
	for saved, again := -1, 0; ; {
		sum, err := once(ctx, cfg, backend, o)
		if !errors.Is(err, tinker.ErrLost) || ctx.Err() != nil {
			return sum, err
		}
		state, rerr := trainer.ReadState(cfg.JobDir(), cfg.Trainer.Name)
		if rerr != nil {
			return nil, errors.Join(err, rerr)
		}
		if again++; state.Saved != saved {
			saved, again = state.Saved, 1
		}
		if again > goBacks {
			return nil, fmt.Errorf("the server lost the run %d times behind the state of step %d; what the server does not keep is in docs/servers.md: %w", again, saved, err)
		}
		fmt.Fprintf(o.Out, "warning: %v\n", err)
		where := fmt.Sprintf("goes back to step %d, the last whose state is saved on the server", saved)
		if saved == 0 {
			where = "begins again: no state is saved on the server yet"
		}
		fmt.Fprintf(o.Out, "the run %s; trainer.save_interval says how often that is done\n", where)
	}
}

// once makes a job and runs it to its end.
func once(ctx context.Context, cfg *config.Config, backend config.Backend, o Options) (*Summary, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	release := watchStop(ctx, o.Stop, func() { cancel(ErrInterrupted) }) // nothing is under way yet that could be finished
	var b *job
	var err error
	if o.seen, err = Inspect(ctx, cfg, o); err == nil {
		b, err = build(ctx, cfg, backend, o)
	}
	release()
	if errors.Is(context.Cause(ctx), ErrInterrupted) {
		if err == nil {
			if err := b.close(); err != nil {
				return nil, err
			}
		}
		fmt.Fprintln(o.Out, "stopped before the job was at work; the same command starts it")
		return nil, ErrInterrupted
	}
	if err != nil {
		return nil, err
	}
	sum, err := b.run(ctx)
	return sum, errors.Join(err, b.close())
}
