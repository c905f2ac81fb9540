package outside

import (
	"context"
	"errors"
	"maps"
)

// Open opens the worlds that claim something and returns what all give. close closes them, the last one first.
func Open(ctx context.Context, worlds []World, n Named, s Site) (all Parts, close func() error, err error) {
	var opened []World
	close = func() error {
		var errs []error
		for i := len(opened) - 1; i >= 0; i-- {
			errs = append(errs, opened[i].Close())
		}
		return errors.Join(errs...)
	}
	for _, w := range worlds {
		if !w.Claims(n) {
			continue
		}
		opened = append(opened, w)
		p, err := w.Open(ctx, n, s)
		if err != nil {
			return Parts{}, nil, errors.Join(err, close())
		}
		all.add(p)
	}
	return all, close, nil
}

func (p *Parts) add(more Parts) {
	p.Workflows = with(p.Workflows, more.Workflows)
	p.Rewards = with(p.Rewards, more.Rewards)
	p.Operators = with(p.Operators, more.Operators)
	p.Readers = with(p.Readers, more.Readers)
	p.Tasks = with(p.Tasks, more.Tasks)
	p.Environments = with(p.Environments, more.Environments)
	p.Carriers = with(p.Carriers, more.Carriers)
	p.Failed += more.Failed
	if more.Tools != nil {
		p.Tools = more.Tools
	}
}

func with[T any](to, more map[string]T) map[string]T {
	if to == nil {
		return more
	}
	maps.Copy(to, more)
	return to
}
