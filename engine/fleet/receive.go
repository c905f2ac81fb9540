package fleet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/blob"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

const (
	mostFailures = 3 // workers that fail on a task, after which its error is believed
	chunkWait    = 10 * time.Second
)

// errGone means that chunks are not in the store; their owner stores them again.
var errGone = errors.New("fleet: chunks are missing in the store")

// subscribe listens to workers and operators.
func (h *Head) subscribe() error {
	for subject, f := range map[string]nats.MsgHandler{
		h.names.Enrol("*"): h.onEnrol, h.names.Announce("*"): h.onAnnounce, h.names.Beat("*"): h.onBeat,
		h.names.Result("*"): h.onResult, h.names.Want("*"): h.onWant, h.names.Admin(): h.onOrder,
	} {
		s, err := h.nc.Subscribe(subject, func(m *nats.Msg) {
			if h.genuine(m) {
				f(m)
			} else {
				h.stray()
			}
		})
		if err == nil {
			err = s.SetPendingLimits(-1, int(min(h.o.Store, 256<<20)))
		}
		if err != nil {
			return fmt.Errorf("fleet: %w", err)
		}
	}
	return nil
}

// onResult takes a worker's answer. The reply lets the worker forget it.
func (h *Head) onResult(m *nats.Msg) {
	worker := last(m.Subject)
	var r message.Result
	body, err := message.Decode(m.Data, &r)
	if err == nil && r.Payload != nil && (r.Payload.Size > h.o.MaxAnswer || len(body) > 0) {
		err = fmt.Errorf("an answer of %d bytes; the limit is %d", r.Payload.Size, h.o.MaxAnswer)
	}
	if err != nil {
		h.bad(worker, err.Error())
		h.fail(worker, r.Task, err)
		h.reply(m, message.Receipt{Done: true})
		return
	}
	if r.Head != h.start { // of a task that an earlier head gave
		h.reply(m, message.Receipt{Done: true})
		return
	}
	if !h.expects(worker, r.Task) {
		h.late(worker, r, body)
		h.reply(m, message.Receipt{Done: true})
		return
	}
	if r.Payload != nil {
		h.beginLarge(m, worker, r)
		return
	}
	h.receive(worker, r, body)
	h.reply(m, message.Receipt{Done: true})
}

// expects reports whether an open task was given to a worker.
func (h *Head) expects(worker, task string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.open[task]
	m := h.crew[worker]
	return o != nil && o.given[worker] && m != nil && m.here
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
	if m := h.crew[worker]; o == nil || m == nil || !m.here {
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

// beginLarge begins to read an answer out of the store, unless it is being read.
func (h *Head) beginLarge(m *nats.Msg, worker string, r message.Result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.open[r.Task]
	if o == nil || o.reading[worker] {
		return
	}
	o.reading[worker] = true
	h.spawn(func() {
		h.receiveLarge(m, worker, r)
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(o.reading, worker)
	})
}

// receiveLarge reads an answer out of the store.
func (h *Head) receiveLarge(m *nats.Msg, worker string, r message.Result) {
	size := r.Payload.Size
	if err := h.fetches.Acquire(h.ctx, size); err != nil {
		return
	}
	defer h.fetches.Release(size)
	payload, err := h.collect(worker, *r.Payload)
	switch {
	case h.ctx.Err() != nil:
		return
	case errors.Is(err, errGone):
		h.reply(m, message.Receipt{Again: true})
		return
	case err != nil:
		h.bad(worker, err.Error())
		h.fail(worker, r.Task, err)
	default:
		h.receive(worker, r, payload)
	}
	h.reply(m, message.Receipt{Done: true})
	h.discard(worker, r.Payload.Hash)
}

// collect joins the chunks of an answer and checks its hash.
func (h *Head) collect(worker string, n Need) ([]byte, error) {
	payload := make([]byte, 0, min(n.Size, blob.Block*blob.Chunk)) // more as it comes
	for i := range blob.Chunks(n.Size) {
		chunk, err := stored(h.ctx, h.nc, h.names.Answers(), h.names.Answer(worker, n.Hash, i))
		if err != nil {
			return nil, err
		}
		if int64(len(payload)+len(chunk)) > n.Size {
			return nil, fmt.Errorf("an answer's chunks are larger than the %d bytes it states", n.Size)
		}
		payload = append(payload, chunk...)
	}
	if got := message.Hash(payload); got != n.Hash {
		return nil, fmt.Errorf("an answer's chunks have the hash %s and not %s", got, n.Hash)
	}
	return payload, nil
}

// discard removes the chunks of an answer.
func (h *Head) discard(worker, hash string) {
	ctx, cancel := context.WithTimeout(h.ctx, mendPatience)
	defer cancel()
	s, err := h.js.Stream(ctx, h.names.Answers())
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(h.names.AnswerOf(worker, hash)))
	}
	if err != nil {
		h.unwell(err)
	}
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
	h.logf(worker, "fleet: worker %s could not compute task %.12s (%s): %v", h.name(worker), id, o.Kind, err)
	o.failure = err
	if h.plan.Failed(worker, id, time.Now()) >= mostFailures && h.o.Local == nil {
		h.end(o, Result{}, err)
	}
	h.wake()
}
