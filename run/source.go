package run

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/algorithm"
	"github.com/seed-d9ad8ee0/trinity/buffer"
	"github.com/seed-d9ad8ee0/trinity/experience"
	"github.com/seed-d9ad8ee0/trinity/trainer"
)

// queueSource is the trainer's end of the queue: it also keeps count of which explore steps have been read.
type queueSource struct {
	queue    *buffer.Queue
	strategy algorithm.SampleStrategy
	expert   *examples // nil unless the strategy mixes an expert's data in

	mu    sync.Mutex
	pos   trainer.Position
	sizes []stepSize // of what was put and is not wholly read, in order
}

type stepSize struct{ step, n int }

// newQueueSource makes a source that begins at pos: of explore step pos.Step the first pos.Count experiences are left out.
func newQueueSource(q *buffer.Queue, pos trainer.Position, s algorithm.SampleStrategy, expert *examples) *queueSource {
	return &queueSource{queue: q, pos: pos, strategy: s, expert: expert}
}

// put hands over the experiences of an explore step.
func (s *queueSource) put(ctx context.Context, step int, list []*experience.Experience) error {
	s.mu.Lock()
	n := len(list)
	if step == s.pos.Step {
		list = list[min(n, s.pos.Count):]
	}
	s.sizes = append(s.sizes, stepSize{step, n})
	s.mu.Unlock()
	err := s.queue.Put(ctx, list)
	if errors.Is(err, buffer.ErrClosed) {
		return nil // the trainer has ended
	}
	return err
}

// Read implements trainer.Source: what the sample strategy makes of n, first samples and then an expert's.
func (s *queueSource) Read(ctx context.Context, step, n int) ([]*experience.Experience, error) {
	n, experts := s.strategy.Split(n)
	var list []*experience.Experience
	for len(list) < n {
		more, err := s.take(ctx, n-len(list))
		if err != nil {
			return nil, err
		}
		for _, e := range more {
			if e.Info.ModelVersion >= s.strategy.MinVersion(step) {
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pos.Expert = s.expert.reader.State().CurrentIndex
	return append(list, shown...), nil
}

// take takes n experiences from the queue.
func (s *queueSource) take(ctx context.Context, n int) ([]*experience.Experience, error) {
	list, err := s.queue.Read(ctx, n, -1)
	if errors.Is(err, buffer.ErrClosed) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pos.Count += len(list)
	for len(s.sizes) > 0 && s.pos.Count >= s.sizes[0].n {
		s.pos = trainer.Position{Step: s.sizes[0].step + 1, Count: s.pos.Count - s.sizes[0].n, Expert: s.pos.Expert}
		s.sizes = s.sizes[1:]
	}
	return list, nil
}

// Position implements trainer.Source.
func (s *queueSource) Position() trainer.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pos
}
