package fleet

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

// How answers are trusted.
//
// The head chooses a share of the tasks by a keyed hash of their ids; workers do not have the key, so they cannot tell
// which. A chosen task is computed by two workers, or by one and the head, and Do returns when both answers are equal.
// If they differ, the head computes the task itself, or without a Local function asks more workers until two agree.
// Who gave another answer is set aside: it is disconnected, its key is revoked, what it holds goes to others. Doubts
// then tells callers which of the answers they have were given by it and never compared. What they have used already is
// computed again and compared, so that the log says whether anything was wrong.

// chosen reports whether a task is among the share that is computed twice.
func chosen(id string, secret []byte, share float64) bool {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(id))
	draw := float64(binary.BigEndian.Uint64(m.Sum(nil))>>11) / (1 << 53)
	return draw < share
}

// Doubts reports whether an answer may be wrong: its worker was caught with a wrong answer after it had given this one,
// and nobody has compared this one. Every chosen check is done before its Do returns. So a caller asks when all tasks
// of a step have returned, and calls Do again for the doubtful ones: another worker computes them.
func (h *Head) Doubts(r Result) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !r.Checked && h.liars[r.Worker]
}

// take considers an answer. It returns false if the answer was not asked for. The caller holds the lock.
func (h *Head) take(o *open, a answer) {
	a.seconds = min(a.seconds, time.Since(o.since).Seconds()) // whatever the worker says
	h.plan.Answered(a.worker, o.ID, a.seconds, time.Now())
	if slices.ContainsFunc(o.answers, func(b answer) bool { return b.worker == a.worker }) {
		return
	}
	o.answers = append(o.answers, a)
	h.counts.AnswerBytes += int64(len(a.payload))
	h.settle(o)
	h.wake()
}

// settle ends a task if its answers suffice.
func (h *Head) settle(o *open) {
	switch {
	case len(o.answers) == 0:
	case unequal(o.answers):
		h.dispute(o)
	case len(o.answers) > 1 || o.answers[0].worker == Here:
		if o.checked {
			h.counts.Checked++
		}
		h.end(o, o.answers[0].result(true), nil)
	case !o.checked:
		h.end(o, o.answers[0].result(false), nil)
	case !h.plan.Possible(o.ID) && h.o.Local == nil:
		h.counts.Unchecked++
		h.line.logf("", "fleet: task %.12s was to be checked, but only worker %s is there", o.ID,
			h.crew.name(o.answers[0].worker))
		h.end(o, o.answers[0].result(false), nil)
	}
}

func (a answer) result(checked bool) Result {
	return Result{Payload: a.payload, Worker: a.worker, Seconds: a.seconds, Checked: checked, sum: a.sum}
}

func unequal(answers []answer) bool {
	return slices.ContainsFunc(answers, func(a answer) bool { return a.sum != answers[0].sum })
}

// dispute finds out which of several answers is right.
func (h *Head) dispute(o *open) {
	if h.o.Local == nil {
		h.vote(o)
		return
	}
	if o.deciding {
		return
	}
	for _, a := range o.answers {
		if a.worker == Here {
			h.judge(o, a)
			return
		}
	}
	o.deciding = true
	h.line.work.Start(func() {
		payload, err := h.shelf.compute(h.line.ctx, h.o.Local, o.Task)
		h.mu.Lock()
		defer h.mu.Unlock()
		o.deciding = false
		if h.open[o.ID] != o || h.line.ctx.Err() != nil {
			return
		}
		if err != nil {
			h.end(o, Result{}, fmt.Errorf("fleet: %s answered task %.12s differently, and the head cannot decide: "+
				"%w", h.crew.namesOf(o.answers), o.ID, err))
			return
		}
		h.judge(o, answer{worker: Here, payload: payload, sum: message.Hash(payload)})
	})
}

// judge ends a task by the right answer and sets those aside who gave another.
func (h *Head) judge(o *open, right answer) {
	answers := o.answers
	h.counts.Disputes++
	h.counts.Checked++
	all := h.crew.namesOf(answers)
	h.end(o, right.result(true), nil)
	for _, a := range answers {
		if a.sum != right.sum {
			h.setAside(a.worker, fmt.Sprintf("its answer to task %.12s (%s) is wrong; answers of %s were compared and "+
				"%s decided", o.ID, o.Kind, all, h.crew.name(right.worker)))
		}
	}
}

// vote decides by the majority of at least three answers.
func (h *Head) vote(o *open) {
	count := map[string]int{}
	for _, a := range o.answers {
		count[a.sum]++
	}
	for _, a := range o.answers {
		if count[a.sum] > 1 {
			h.judge(o, a)
			return
		}
	}
	if h.plan.Possible(o.ID) {
		h.plan.Again(o.ID)
		return
	}
	// Nobody can tell who is right: neither is trusted.
	h.counts.Disputes++
	answers, all := o.answers, h.crew.namesOf(o.answers)
	for _, a := range answers {
		h.setAside(a.worker, fmt.Sprintf("the answers of %s to task %.12s differ and nobody is left to decide", all,
			o.ID))
	}
}

// setAside ends the trust in a worker. The caller holds the lock.
func (h *Head) setAside(worker, reason string) {
	if worker == Here || h.liars[worker] {
		return
	}
	h.liars[worker] = true
	h.line.logf(worker, "fleet: worker %s is set aside: %s", h.crew.name(worker), reason)
	for _, o := range h.open {
		n := len(o.answers)
		o.answers = slices.DeleteFunc(o.answers, func(a answer) bool { return a.worker == worker })
		for range n - len(o.answers) {
			h.plan.Disregard(o.ID)
		}
	}
	h.expel(worker, reason)
	h.audit(worker)
}

// recent are the tasks that ended last, so that answers that come late are compared too.
type recent struct {
	ended map[string]ended
	order []string
}

type ended struct {
	sum    string
	worker string
	given  map[string]bool
	task   Task
}

// mostRecent and recentPayload bound what is remembered.
const (
	mostRecent    = 4096
	recentPayload = 64 << 10
)

func (r *recent) add(o *open, result Result) {
	if len(o.given) < 2 {
		return // nobody else has it
	}
	if r.ended == nil {
		r.ended = map[string]ended{}
	}
	e := ended{sum: result.sum, worker: result.Worker, given: o.given, task: o.Task}
	if len(o.Payload) > recentPayload {
		e.task.Payload = nil
	}
	if _, known := r.ended[o.ID]; !known {
		r.order = append(r.order, o.ID)
	}
	r.ended[o.ID] = e
	if len(r.order) > mostRecent {
		delete(r.ended, r.order[0])
		r.order = r.order[1:]
	}
}

// compareLate looks at an answer to a task that has ended. If it differs from the one that was used, the head computes
// the task and sets aside who was wrong; Doubts then names the answer. The caller holds the lock.
func (h *Head) compareLate(id string, a answer) {
	e, known := h.recent.ended[id]
	if !known || !e.given[a.worker] || e.sum == a.sum || h.liars[a.worker] {
		return
	}
	h.counts.Disputes++
	if h.o.Local == nil || e.task.Payload == nil {
		h.line.logf(a.worker, "fleet: the answers of workers %s and %s to task %.12s differ", h.crew.name(e.worker),
			h.crew.name(a.worker), id)
		return
	}
	h.line.work.Start(func() {
		payload, err := h.shelf.compute(h.line.ctx, h.o.Local, e.task)
		if err != nil {
			h.line.warn(err)
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		sum := message.Hash(payload)
		for worker, got := range map[string]string{e.worker: e.sum, a.worker: a.sum} {
			if got != sum {
				h.setAside(worker, fmt.Sprintf("its answer to task %.12s (%s) is wrong, as the head computed", id,
					e.task.Kind))
			}
		}
	})
}
