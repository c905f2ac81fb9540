package buffer

import (
	"context"
	"errors"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Handover is the Exchange inside one process: a queue that also counts which explore steps have been read.
type Handover struct {
	queue *Queue
	copy  Copy // nil: there is none

	mu    sync.Mutex
	pos   Position
	sizes []stepSize // of what was put and is not wholly read, in order
}

type stepSize struct{ step, n int }

// NewHandover makes a Handover that begins at pos: the first pos.Count experiences of explore step pos.Step are left
// out. A new run has the zero position, and its first explore step is 1. It owns the queue. trainer is told when a
// reader waits; all that is put goes to copy too, if that is not nil.
func NewHandover(q *Queue, trainer Waiter, copy Copy, pos Position) *Handover {
	q.Starved = trainer.SetIdle
	return &Handover{queue: q, copy: copy, pos: Position{Step: max(1, pos.Step), Count: pos.Count}}
}

// Put implements Exchange.
func (h *Handover) Put(ctx context.Context, step int, list []*experience.Experience) error {
	if h.copy != nil {
		if err := h.copy.Put(ctx, step, list); err != nil {
			return err
		}
	}
	list, wanted := h.unread(step, list)
	if !wanted {
		return nil
	}
	err := h.queue.Put(ctx, list)
	if errors.Is(err, ErrClosed) {
		return nil // the trainer has ended
	}
	return err
}

// unread is the part of a step that has not been read yet; wanted is false for one that is explored again only for what
// is learned from it.
func (h *Handover) unread(step int, list []*experience.Experience) (left []*experience.Experience, wanted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if step < h.pos.Step {
		return nil, false
	}
	h.sizes = append(h.sizes, stepSize{step, len(list)})
	if step == h.pos.Step {
		list = list[min(len(list), h.pos.Count):]
	}
	return list, true
}

// Take implements Exchange.
func (h *Handover) Take(ctx context.Context, n, _ int) ([]*experience.Experience, error) {
	list, err := h.queue.Read(ctx, n, -1)
	if errors.Is(err, ErrClosed) {
		return nil, dataset.ErrEnd
	}
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pos.Count += len(list)
	// a step that hands on nothing is passed together with what follows: whether it came before this call is chance
	for len(h.sizes) > 0 && h.pos.Count > 0 && h.pos.Count >= h.sizes[0].n {
		h.pos = Position{Step: h.sizes[0].step + 1, Count: h.pos.Count - h.sizes[0].n}
		h.sizes = h.sizes[1:]
	}
	return list, nil
}

// Position implements Exchange.
func (h *Handover) Position() Position {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pos
}

// Finish implements Exchange.
func (h *Handover) Finish(context.Context) error {
	h.queue.Close()
	return nil
}

// Explored implements Exchange.
func (h *Handover) Explored() (step int, kept bool) { return 0, false }

// Short implements Exchange.
func (h *Handover) Short(_ context.Context, n, _ int) (bool, error) { return h.Left() < n, nil }

// Left is how many experiences nobody has taken.
func (h *Handover) Left() int { return h.queue.Len() }
