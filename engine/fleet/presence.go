package fleet

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/schedule"
)

// The scheduler takes at most a fifth of a core: after a decision that took longer than rareDecision it rests, and
// decides together what happens meanwhile.
const (
	rareDecision = 200 * time.Microsecond
	decisionRest = 4
)

// waitingNotice is how often the head says that it waits for workers.
const waitingNotice = time.Minute

// admit makes a worker a member that gets tasks. It returns the tasks to send to it again: those it was given before
// and does not hold. ok is false if there are too many workers.
func (h *Head) admit(worker string, a About, holds []string) (again []string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.crew[worker]
	if m == nil {
		if !h.crew.makeRoom() {
			h.line.logf("", "fleet: %d workers are there; worker %s has to wait", len(h.crew), a.Name)
			return nil, false
		}
		m = &member{}
		h.crew[worker] = m
	}
	now := time.Now()
	again = h.missing(worker, holds, 0, now)
	if !m.here {
		h.line.logf(worker, "fleet: worker %s joined: %s, %s, %d threads", a.Name, a.Processor, a.Kernels, a.Threads)
		m.since = now
	}
	m.about, m.here, m.seen, m.leaving = a, true, now, false
	h.plan.Join(schedule.Worker{ID: worker, Slots: a.Slots})
	h.plan.Present(worker, m.trip, m.paused != "", m.draining)
	h.wake()
	return again, true
}

// missing lists the tasks that a worker was given at least this long ago and does not hold, and notes that they are
// sent again. The caller holds the lock.
func (h *Head) missing(worker string, holds []string, age time.Duration, now time.Time) (again []string) {
	held := map[string]bool{}
	for _, id := range holds {
		held[id] = true
	}
	for _, id := range h.plan.Queue(worker, age, now) {
		if !held[id] {
			h.plan.Sent(worker, id, now)
			h.counts.Resent++
			again = append(again, id)
		}
	}
	return again
}

// beat notes how a worker is and returns the tasks to send to it again: those it was given and does not hold.
// known is false if the head thinks that the worker is not there.
func (h *Head) beat(worker string, b message.Beat) (again []string, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.crew[worker]
	if m == nil || !m.here {
		return nil, false
	}
	now := time.Now()
	stopped := m.paused != "" || m.leaving || m.draining
	m.seen, m.trip, m.paused = now, time.Duration(b.Trip*float64(time.Second)), b.Paused
	m.leaving = m.leaving || b.Leaves
	if m.paused != "" || m.leaving || m.draining {
		h.plan.Present(worker, m.trip, m.paused != "", m.leaving || m.draining)
		if !stopped {
			h.plan.Release(worker, now)
		}
		h.wake()
	} else {
		h.plan.Present(worker, m.trip, false, false)
		if stopped {
			h.wake()
		}
	}
	return h.missing(worker, b.Holds, 2*h.o.Beat+2*m.trip, now), true
}

// returned takes a worker in again that was thought to be lost.
func (h *Head) returned(worker string, a About) {
	h.mu.Lock()
	m := h.crew[worker]
	back := m != nil && m.refused == ""
	h.mu.Unlock()
	if back {
		h.admit(worker, a, nil) // there is room for whom the head remembers
	}
}

// gone notes that a worker is no longer there. Its tasks go to others.
func (h *Head) gone(worker, how string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.goneLocked(worker, how)
}

func (h *Head) goneLocked(worker, how string) {
	m := h.crew[worker]
	if m == nil || !m.here {
		return
	}
	m.here = false
	m.past = m.past.Plus(h.plan.Report(worker, time.Now()))
	ids := h.plan.Lost(worker, time.Now())
	if len(ids) > 0 {
		m.lost++
	}
	h.line.logf(worker, "fleet: worker %s %s; %d tasks go to others", h.crew.name(worker), how, len(ids))
	h.line.work.Start(func() { h.clear(worker) })
	h.wake()
}

// loop runs the scheduler: when something happened, and now and then.
func (h *Head) loop() {
	const every = 100 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	var looked time.Time
	for {
		select {
		case <-h.line.ctx.Done():
			return
		case <-h.kick:
		case <-tick.C:
		}
		now := time.Now()
		if now.Sub(looked) > h.o.Beat/2 {
			looked = now
			h.look(now)
		}
		begun := time.Now()
		actions := h.decide(now)
		spent := time.Since(begun)
		h.act(actions)
		if spent > rareDecision {
			pause.For(h.line.ctx, min(decisionRest*spent, every))
		}
	}
}

// look finds workers that are lost, tasks that take too long, and says for whom the head waits.
func (h *Head) look(now time.Time) {
	h.line.pulse(false)
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, m := range h.crew {
		if m.here && now.Sub(m.seen) > lostBeats*h.o.Beat {
			h.goneLocked(id, fmt.Sprintf("has not been heard of for %v", now.Sub(m.seen).Round(time.Millisecond)))
		}
	}
	h.plan.Late(now)
	for _, id := range h.plan.Stuck() {
		if o := h.open[id]; o != nil {
			h.unstick(o)
		}
	}
	h.complain(now)
}

// unstick ends a task that nobody who is there can answer: its only answer counts, or its error.
func (h *Head) unstick(o *open) {
	switch {
	case o.deciding || h.plan.Crew() == 0 && h.o.Local == nil:
	case len(o.answers) > 0:
		h.settle(o)
	case o.failure != nil:
		h.end(o, Result{}, o.failure)
	}
}

// complain says for whom the head waits.
func (h *Head) complain(now time.Time) {
	if h.plan.Crew() > 0 || h.plan.Open() == 0 || h.o.Local != nil {
		h.waiting = time.Time{}
		return
	}
	if !h.waiting.IsZero() && now.Sub(h.waiting) < waitingNotice {
		return
	}
	h.waiting = now
	text := fmt.Sprintf("fleet: %d tasks wait for a worker; on another machine run: %s", h.plan.Open(), h.JoinLine())
	if known := h.crew.away(now); len(known) > 0 {
		text += " (" + strings.Join(known, ", ") + ")"
	}
	h.line.logf("", "%s", text)
}

// decide lets the scheduler give out tasks.
func (h *Head) decide(now time.Time) []schedule.Action {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plan.Pump(now)
	actions := h.plan.Take()
	for _, a := range actions {
		if o := h.open[a.Task]; o != nil && a.Verb == schedule.Give {
			o.given[a.Worker] = true
		}
	}
	return actions
}

// act carries the scheduler's decisions out.
func (h *Head) act(actions []schedule.Action) {
	for _, a := range actions {
		switch {
		case a.Worker == Here && a.Verb == schedule.Give:
			h.begins(a.Task)
		case a.Worker == Here:
			h.cancelHere(a.Task)
		case a.Verb == schedule.Give:
			h.send(a.Worker, a.Task)
		default:
			h.line.control(a.Worker, message.Control{Cancel: a.Task})
		}
	}
}
