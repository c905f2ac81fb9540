package run

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// feed is where a trainer's samples come from.
type feed interface {
	// take returns the next n samples, or io.EOF when there will not be so many; it may leave out what is older than minVersion.
	take(ctx context.Context, n, minVersion int) ([]*experience.Experience, error)
	// at is how far the feed has been read.
	at() trainer.Position
	// short reports whether there are fewer than n for the trainer to take now.
	short(ctx context.Context, n, minVersion int) (bool, error)
}

// samples is a feed as the sample strategy has it: what is too old is passed over, and an expert's data is mixed in.
type samples struct {
	feed
	strategy algorithm.SampleStrategy
	expert   *examples    // nil unless the strategy mixes an expert's data in
	warn     func(string) // nil in tests
	stale    int          // samples that were passed over
}

// Read implements trainer.Source: what the sample strategy makes of n, first samples and then an expert's.
func (s *samples) Read(ctx context.Context, step, n int) ([]*experience.Experience, error) {
	n, experts := s.strategy.Split(n)
	oldest := s.strategy.MinVersion(step)
	var list []*experience.Experience
	for len(list) < n {
		more, err := s.take(ctx, n-len(list), oldest)
		if err != nil {
			return nil, err
		}
		before := len(list)
		for _, e := range more {
			if e.Info.ModelVersion >= oldest {
				list = append(list, e)
			}
		}
		s.passedOver(step, oldest, len(more), len(list)-before)
	}
	if experts == 0 {
		return list, nil
	}
	shown, err := s.expert.next()
	if err != nil {
		return nil, err // io.EOF: the expert has no more
	}
	for _, e := range shown {
		e.EID.Batch = "expert/" + e.EID.Batch
		algorithm.Expert(e)
	}
	return append(list, shown...), nil
}

// passedOver counts the samples that are older than a step may train on, and says so if all that were taken are.
func (s *samples) passedOver(step, oldest, taken, used int) {
	s.stale += taken - used
	if used == 0 && s.warn != nil {
		s.warn(fmt.Sprintf("train step %d: all %d samples were passed over, as weights older than version %d sampled them "+
			"(algorithm.sample_strategy_args.max_staleness)", step, taken, oldest))
	}
}

// Position implements trainer.Source.
func (s *samples) Position() trainer.Position {
	p := s.at()
	if s.expert != nil {
		p.Expert = s.expert.reader.State().CurrentIndex
	}
	return p
}
