package workflow

import (
	"errors"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Repeat plays n episodes side by side and returns their experiences in order. If one of them fails, the task
// fails as a whole: the list is nil then.
func Repeat(n int, play func(run int) ([]*experience.Experience, error)) ([]*experience.Experience, error) {
	episodes, errs := make([][]*experience.Experience, n), make([]error, n)
	var wait sync.WaitGroup
	for i := range episodes {
		wait.Go(func() { episodes[i], errs[i] = play(i) })
	}
	wait.Wait()
	if err := distinct(errs); err != nil {
		return nil, err
	}
	var list []*experience.Experience
	for _, e := range episodes {
		list = append(list, e...)
	}
	return list, nil
}

// episodes is Repeat for the repetitions of a task. An over-long prompt is masked if the configuration wants that.
func (r *Rollout) episodes(t Task, play func(run int) ([]*experience.Experience, error)) (
	[]*experience.Experience, error) {
	return Repeat(t.Repeat, func(run int) ([]*experience.Experience, error) {
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
