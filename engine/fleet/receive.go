package fleet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

const (
	mostFailures = 3 // workers that fail on a task, after which its error is believed
	chunkWait    = 10 * time.Second
)

// errGone means that chunks are not in the store; their owner stores them again.
var errGone = errors.New("fleet: chunks are missing in the store")

// bad counts a message that breaks the rules. Too many end a worker's part.
func (h *Head) bad(worker, what string) {
	h.line.strays.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.crew[worker]
	if m == nil {
		return
	}
	m.bad++
	what = foreign.Line(what)
	h.line.logf(worker, "fleet: a message of worker %s is refused: %s", h.crew.name(worker), what)
	if m.bad == mostBad {
		h.setAside(worker, fmt.Sprintf("%d of its messages were refused, the last because: %s", m.bad, what))
	}
}

// expects reports whether an open task was given to a worker.
func (h *Head) expects(worker, task string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.open[task]
	return o != nil && o.given[worker] && h.crew.has(worker)
}

// late looks at an answer that nobody waits for: a worker may give one when it was cancelled too late. One to an open
// task that the worker was never given is foreign.
func (h *Head) late(worker string, r message.Result, body []byte) {
	h.mu.Lock()
	o := h.open[r.Task]
	foreign := o != nil && !o.given[worker]
	if o == nil && r.Error == "" && r.Payload == nil {
		h.compareLate(r.Task, answer{worker: worker, sum: message.Hash(body)})
	}
	h.mu.Unlock()
	if foreign {
		h.bad(worker, fmt.Sprintf("it answers task %.12s, which it was not given", r.Task))
	}
}

// receive takes an answer whose payload is here.
func (h *Head) receive(worker string, r message.Result, payload []byte) {
	if r.Error != "" {
		text := foreign.Text(foreign.Cut(r.Error, maxError))
		h.fail(worker, r.Task, fmt.Errorf("fleet: worker %s: %s", worker, text))
		return
	}
	if err := h.check(r.Task, payload); err != nil {
		h.bad(worker, fmt.Sprintf("its answer to task %.12s cannot be read: %v", r.Task, err))
		h.fail(worker, r.Task, err)
		return
	}
	sum := message.Hash(payload)
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.open[r.Task]
	if o == nil || !h.crew.has(worker) {
		return
	}
	h.take(o, answer{worker: worker, payload: payload, sum: sum, seconds: r.Seconds})
}

// check reports what is wrong with the form of an answer.
func (h *Head) check(task string, payload []byte) error {
	h.mu.Lock()
	o := h.open[task]
	h.mu.Unlock()
	if o == nil || o.Check == nil {
		return nil
	}
	return o.Check(payload)
}

// claim lets one goroutine read a worker's large answer to a task, until it calls release; ok is false if nobody waits
// for the answer or it is being read.
func (h *Head) claim(worker, task string) (release func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.open[task]
	if o == nil || o.reading[worker] {
		return nil, false
	}
	o.reading[worker] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(o.reading, worker)
	}, true
}

// stored reads the message that a stream has for a subject.
func stored(ctx context.Context, nc *nats.Conn, stream, subject string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, chunkWait)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+stream+"."+subject, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	if status := m.Header.Get("Status"); status != "" {
		return nil, fmt.Errorf("%w: status %s", errGone, strconv.Quote(status))
	}
	return m.Data, nil
}

// fail notes that a worker could not compute a task. After several, its error is the task's, unless Local can
// tell.
func (h *Head) fail(worker, id string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.open[id]
	if o == nil || !o.given[worker] {
		return
	}
	if m := h.crew[worker]; m != nil {
		m.failures++
	}
	h.line.logf(worker, "fleet: worker %s could not compute task %.12s (%s): %v", h.crew.name(worker), id, o.Kind, err)
	o.failure = err
	if h.plan.Failed(worker, id, time.Now()) >= mostFailures && h.o.Local == nil {
		h.end(o, Result{}, err)
	}
	h.wake()
}
