package fleet

import (
	"context"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

// send sends a task to a worker. A lost message is sent again after one of the worker's next beats.
func (h *Head) send(worker, id string) {
	h.mu.Lock()
	o := h.open[id]
	h.mu.Unlock()
	if o == nil {
		return
	}
	t := message.Task{ID: id, Head: h.line.start, Kind: o.Kind, Needs: o.Needs, Cost: o.Cost, Group: o.Group,
		Shared: o.Shared}
	body := o.Payload
	if len(body) > message.MaxInline {
		t.Payload, body = &Need{Hash: message.Hash(body), Size: int64(len(body))}, nil
	}
	if err := h.line.publish(h.line.names.Task(worker), t, body); err != nil {
		h.line.refused.Add(1)
	}
}

// sendAll sends tasks to a worker.
func (h *Head) sendAll(worker string, ids []string) {
	for _, id := range ids {
		h.send(worker, id)
	}
}

// resend sends everything again that workers are computing or will, when the head was cut off.
func (h *Head) resend() {
	type copied struct{ worker, task string }
	var all []copied
	h.mu.Lock()
	now := time.Now()
	for id, m := range h.crew {
		if !m.here {
			continue
		}
		for _, task := range h.plan.Queue(id, 0, now) {
			h.plan.Sent(id, task, now)
			h.counts.Resent++
			all = append(all, copied{id, task})
		}
	}
	h.mu.Unlock()
	for _, c := range all {
		h.send(c.worker, c.task)
	}
}

// clear removes the answers that a worker stored.
func (h *Head) clear(worker string) {
	h.mu.Lock()
	back := h.crew.has(worker)
	h.mu.Unlock()
	if !back {
		h.line.purge(h.line.names.Answers(), h.line.names.AnswersOf(worker))
	}
}

// begins computes a task in this process.
func (h *Head) begins(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.open[id]
	if o == nil || h.line.work.Ended() {
		return
	}
	ctx, cancel := context.WithCancel(h.line.ctx)
	h.local[id] = cancel
	h.line.work.Start(func() {
		defer cancel()
		begun := time.Now()
		payload, err := h.shelf.compute(ctx, h.o.Local, o.Task)
		h.ended(ctx, o, payload, err, time.Since(begun))
	})
}

// ended takes the answer of this process.
func (h *Head) ended(ctx context.Context, o *open, payload []byte, err error, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.local, o.ID)
	switch {
	case h.open[o.ID] != o || ctx.Err() != nil:
	case err != nil:
		h.end(o, Result{}, err) // the function is pure: it fails everywhere
	default:
		seconds := took.Seconds() / float64(max(1, len(h.local)+1))
		h.take(o, answer{worker: Here, payload: payload, sum: message.Hash(payload), seconds: seconds})
	}
}

// cancelHere ends a computation of this process whose answer is no longer wanted.
func (h *Head) cancelHere(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cancel := h.local[id]; cancel != nil {
		cancel()
	}
}
