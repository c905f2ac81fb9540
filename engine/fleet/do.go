package fleet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/schedule"
)

// open is a task that somebody waits for.
type open struct {
	Task
	since    time.Time
	checked  bool            // chosen to be computed twice
	given    map[string]bool // workers that it was ever given to
	answers  []answer
	reading  map[string]bool // workers whose large answers are being read
	failure  error           // of the last worker that did not compute it
	deciding bool            // the head computes it, because answers differ
	callers  int
	done     chan struct{}
	result   Result
	err      error
}

// answer is a worker's answer.
type answer struct {
	worker  string
	payload []byte
	sum     string // SHA-256
	seconds float64
}

// Do has a task computed and returns its answer. It blocks until then; it sends the task again as often as workers are
// lost, and waits while nobody is there. Calls with equal tasks share one computation. A task that is chosen to be
// checked is answered when the check is done. An error that every worker, and Local, gives is returned.
func (h *Head) Do(ctx context.Context, t Task) (Result, error) {
	if t.ID != message.ID(t.Kind, t.Needs, t.Payload) {
		return Result{}, fmt.Errorf("fleet: task %.80q of kind %s does not have the id of its content; use NewTask",
			t.ID, t.Kind)
	}
	o, err := h.enter(t)
	if err != nil {
		return Result{}, err
	}
	select {
	case <-o.done:
		return o.result, o.err
	case <-ctx.Done():
		h.leave(o)
		return Result{}, ctx.Err()
	case <-h.line.ctx.Done():
		return Result{}, ErrClosed
	}
}

// enter adds a task, or joins the callers of an equal one.
func (h *Head) enter(t Task) (*open, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.line.work.Ended() {
		return nil, ErrClosed
	}
	if o := h.open[t.ID]; o != nil {
		o.callers++
		return o, nil
	}
	o := &open{Task: t, since: time.Now(), checked: chosen(t.ID, h.line.keys.Secret, h.o.Verify),
		given: map[string]bool{}, reading: map[string]bool{}, callers: 1, done: make(chan struct{})}
	h.open[t.ID] = o
	h.counts.TaskBytes += int64(len(t.Payload))
	if len(t.Payload) > message.MaxInline {
		h.shelf.offer(message.Hash(t.Payload), int64(len(t.Payload)), func() (io.ReadCloser, error) {
			return readCloser{bytes.NewReader(t.Payload)}, nil
		})
	}
	h.plan.Add(schedule.Task{ID: t.ID, Kind: t.Kind, Group: t.Group, Tenant: t.Tenant, Cost: t.Cost,
		Shared: t.Shared, Checked: o.checked})
	h.wake()
	return o, nil
}

// leave gives a task up when its last caller went away.
func (h *Head) leave(o *open) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o.callers--; o.callers == 0 && h.open[o.ID] == o {
		h.end(o, Result{}, context.Canceled)
	}
}

// end answers the callers of a task. The caller holds the lock.
func (h *Head) end(o *open, r Result, err error) {
	delete(h.open, o.ID)
	o.result, o.err = r, err
	if err == nil {
		h.counts.Done++
		h.recent.add(o, r)
	}
	if len(o.Payload) > message.MaxInline {
		h.shelf.withdraw(message.Hash(o.Payload))
	}
	h.plan.Done(o.ID, time.Now())
	close(o.done)
	h.wake()
}

// readCloser is a reader of memory, which needs no closing.
type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }
