package python

import (
	"context"
	"errors"

	programs "github.com/seed-d9ad8ee0/trinity/internal/process"
)

// slot is the place of one process, which is replaced when it takes no more calls.
type slot struct {
	index int
	kept  programs.Kept[*process]
}

func newSlot(h *Host, index int) *slot {
	return &slot{index, programs.Kept[*process]{Alive: (*process).usable,
		Open: func(ctx context.Context) (*process, error) { return startProcess(ctx, h, index) }}}
}

// load is how many calls and sessions the process has.
func (s *slot) load() int {
	if p := s.kept.Current(); p != nil {
		return p.load()
	}
	return 0
}

// process returns the current process, or waits until one is started and ready.
func (s *slot) process(ctx context.Context) (*process, error) {
	p, err := s.kept.Get(ctx)
	switch {
	case err == nil:
		return p, nil
	case errors.Is(err, programs.ErrClosed):
		return nil, &Lost{Call: "start", Process: s.index, Reason: ErrClosed}
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return nil, &Cancelled{Call: "start", Cause: context.Cause(ctx)}
	}
	return nil, err
}
