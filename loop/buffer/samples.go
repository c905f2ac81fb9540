package buffer

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Samples is a trainer's source: an Exchange as the sample strategy has it. What is too old is passed over, and an
// expert's data is mixed in.
type Samples struct {
	From     Exchange
	Strategy algorithm.SampleStrategy
	Expert   Examples     // nil unless the strategy mixes an expert's data in
	Warn     func(string) // nil: nobody is told

	stale int // samples that were passed over
}

// Examples is a data set that is learned from in batches of rows.
type Examples interface {
	// Next returns the experiences of the next batch, or dataset.ErrEnd.
	Next() ([]*experience.Experience, error)
	// Position counts the rows that were read.
	Position() Position
}

// Read returns what the sample strategy makes of n, first samples and then an expert's. dataset.ErrEnd means that there
// are no more.
func (s *Samples) Read(ctx context.Context, step, n int) ([]*experience.Experience, error) {
	n, experts := s.Strategy.Split(n)
	oldest := s.Strategy.MinVersion(step)
	var list []*experience.Experience
	for len(list) < n {
		more, err := s.From.Take(ctx, n-len(list), oldest)
		if err != nil {
			return nil, err
		}
		fresh := 0
		for _, e := range more {
			if e.Info.ModelVersion < oldest {
				continue
			}
			if fresh++; s.usable(step, e) {
				list = append(list, e)
			}
		}
		s.passedOver(step, oldest, len(more), fresh)
	}
	if experts == 0 {
		return list, nil
	}
	shown, err := s.Expert.Next()
	if err != nil {
		return nil, err // dataset.ErrEnd: the expert has no more
	}
	for _, e := range shown {
		e.EID.Batch = "expert/" + e.EID.Batch
		algorithm.Expert(e)
	}
	return append(list, shown...), nil
}

// usable reports whether training can use the numbers of a sample, which another program may have stored.
func (s *Samples) usable(step int, e *experience.Experience) bool {
	err := e.Check()
	if err != nil && s.Warn != nil {
		s.Warn(fmt.Sprintf("train step %d: sample %s is passed over: %v", step, e.EID, err))
	}
	return err == nil
}

// passedOver counts the samples that are older than a step may train on, and says so if all that were taken are.
func (s *Samples) passedOver(step, oldest, taken, used int) {
	s.stale += taken - used
	if used == 0 && s.Warn != nil {
		s.Warn(fmt.Sprintf("train step %d: all %d samples were passed over, as weights older than version %d "+
			"sampled them (algorithm.sample_strategy_args.max_staleness)", step, taken, oldest))
	}
}

// Position is how far everything has been read.
func (s *Samples) Position() Position {
	p := s.From.Position()
	if s.Expert != nil {
		p.Expert = s.Expert.Position().Count
	}
	return p
}

// Wants reports whether the train step after the next one would find fewer samples than it needs, so that a trainer
// that reads it waits.
func (s *Samples) Wants(ctx context.Context, step, n int) (bool, error) {
	n, _ = s.Strategy.Split(n)
	return s.From.Short(ctx, max(1, n), s.Strategy.MinVersion(step))
}

// LeftOver says why there is no batch of n any more, for a person; counted: with how many are left, where that is
// known.
func (s *Samples) LeftOver(n int, counted bool) string {
	n, _ = s.Strategy.Split(n)
	n = max(1, n)
	text := fmt.Sprintf("the tasks are done, and fewer than the %d samples of a batch are left", n)
	if h, ok := s.From.(*Handover); ok && counted {
		text = fmt.Sprintf("the tasks are done, and %d samples are left of the %d of a batch", h.Left(), n)
	}
	if s.Expert != nil {
		text += ", or the expert's data is used up"
	}
	if s.stale > 0 {
		text += fmt.Sprintf("; %d were older than algorithm.sample_strategy_args.max_staleness allows", s.stale)
	}
	return text
}
