package run

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/algorithm"
	"github.com/seed-d9ad8ee0/trinity/experience"
	"github.com/seed-d9ad8ee0/trinity/trainer"
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
	expert   *examples // nil unless the strategy mixes an expert's data in
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
		for _, e := range more {
			if e.Info.ModelVersion >= oldest {
				list = append(list, e)
			}
		}
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

// Position implements trainer.Source.
func (s *samples) Position() trainer.Position {
	p := s.at()
	if s.expert != nil {
		p.Expert = s.expert.reader.State().CurrentIndex
	}
	return p
}
