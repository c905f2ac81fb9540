package fleet

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

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
	t := message.Task{ID: id, Head: h.start, Kind: o.Kind, Needs: o.Needs, Cost: o.Cost, Group: o.Group,
		Shared: o.Shared}
	body := o.Payload
	if len(body) > message.MaxInline {
		t.Payload, body = &Need{Hash: message.Hash(body), Size: int64(len(body))}, nil
	}
	data, err := message.Encode(t, body)
	if err == nil {
		err = h.nc.Publish(h.names.Task(worker), data)
	}
	if err != nil {
		h.mu.Lock()
		h.counts.Refused++
		h.mu.Unlock()
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

// control sends a message to one worker.
func (h *Head) control(worker string, c message.Control) {
	data, err := message.Encode(c, nil)
	if err == nil {
		err = h.nc.Publish(h.names.Control(worker), data)
	}
	if err != nil {
		h.warn(err)
	}
}

// pulse tells all workers that this head is there, or that it ends.
func (h *Head) pulse(ends bool) {
	data, err := message.Encode(message.Pulse{Head: h.start, Ends: ends}, nil)
	if err == nil {
		err = h.nc.Publish(h.names.Pulse(), data)
	}
	if err != nil {
		h.warn(err)
	}
}

// clear removes the answers that a worker stored.
func (h *Head) clear(worker string) {
	h.mu.Lock()
	back := h.crew[worker] != nil && h.crew[worker].here
	h.mu.Unlock()
	if back {
		return
	}
	ctx, cancel := context.WithTimeout(h.ctx, mendPatience)
	defer cancel()
	s, err := h.js.Stream(ctx, h.names.Answers())
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(h.names.AnswersOf(worker)))
	}
	if err != nil {
		h.unwell(err)
	}
}

// begins computes a task in this process.
func (h *Head) begins(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.open[id]
	if o == nil || h.closed {
		return
	}
	ctx, cancel := context.WithCancel(h.ctx)
	h.local[id] = cancel
	h.spawn(func() {
		defer cancel()
		begun := time.Now()
		payload, err := h.computeHere(ctx, o.Task)
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
