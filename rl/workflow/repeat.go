package workflow

import (
	"errors"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// repeat plays n episodes side by side and returns their experiences in order. If one of them fails, the task
// fails as a whole: the list is nil then.
func repeat(n int, play func(run int) ([]*experience.Experience, error)) ([]*experience.Experience, error) {
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

// distinct joins errors, those of one text once.
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
