package workflow

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Repeat plays a task's repetitions side by side and returns their experiences in order. One that fails ends the
// others, and the task fails as a whole: the list is nil then. With Partial it does not, and the task fails only if all
// do.
func Repeat(ctx context.Context, r *Rollout, n int,
	play func(ctx context.Context, run int) ([]*experience.Experience, error)) ([]*experience.Experience, error) {
	rctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	list, err := repeat(n, r.Partial, func(run int) ([]*experience.Experience, error) {
		list, err := play(rctx, run)
		if err != nil && !r.Partial {
			cancel(err)
		}
		return list, err
	})
	if first := context.Cause(rctx); err != nil && first != nil && ctx.Err() == nil {
		err = first
	}
	return list, err
}

// repeat is Repeat where one that fails does not end the others.
func repeat(n int, partial bool, play func(run int) ([]*experience.Experience, error)) (
	[]*experience.Experience, error) {
	episodes, errs := make([][]*experience.Experience, n), make([]error, n)
	var wait sync.WaitGroup
	for i := range episodes {
		wait.Go(func() {
			list, err := play(i)
			if errs[i] = err; err == nil {
				episodes[i] = list
			}
		})
	}
	wait.Wait()
	list := slices.Concat(episodes...)
	err := distinct(errs)
	if err != nil && (!partial || len(list) == 0 || errors.Is(err, tinker.ErrLost)) {
		return nil, err
	}
	return list, nil
}

// episodes is Repeat for the repetitions of a task. An over-long prompt is masked if the configuration wants that.
func (r *Rollout) episodes(t Task, play func(run int) ([]*experience.Experience, error)) (
	[]*experience.Experience, error) {
	return repeat(t.Repeat, r.Partial, func(run int) ([]*experience.Experience, error) {
		list, err := play(run)
		if m, ok := r.masked(t, run, err); ok {
			return []*experience.Experience{m}, nil
		}
		return list, err
	})
}

// distinct joins errors, each text once.
func distinct(errs []error) error {
	var list []error
	for _, err := range errs {
		if err != nil && !slices.ContainsFunc(list, func(e error) bool { return e.Error() == err.Error() }) {
			list = append(list, err)
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return errors.Join(list...)
}
