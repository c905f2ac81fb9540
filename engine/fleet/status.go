package fleet

import (
	"cmp"
	"slices"
	"time"
)

// Status is how a fleet stands.
type Status struct {
	Job, URL string
	Workers  []WorkerStatus
	Open     int // tasks that somebody waits for
	Pending  int // of these, tasks that no worker has

	Done      int64 // tasks
	Checked   int64 // of these, compared
	Unchecked int64 // chosen to be compared, with nobody to do it
	Copies    int   // tasks given out a second time because their workers were slow
	Resent    int64 // messages sent again
	Refused   int64 // messages that NATS did not take
	Strays    int64 // messages of workers that broke the rules
	Disputes  int64 // tasks with different answers
	Audited   int64 // answers of workers set aside that were used, computed again
	UsedWrong int64 // of these, wrong ones

	TaskBytes, AnswerBytes, BlobBytes int64 // sent, received, stored for workers
}

// WorkerStatus is how a worker stands.
type WorkerStatus struct {
	ID    string
	About About
	State string // here, paused, draining, lost, removed
	Why   string // of paused and removed

	Given    int           // tasks in its queue
	Done     int           // tasks
	Speed    float64       // cost per second of computing; 0: not measured
	Share    float64       // of the cost of all answers, from 0 to 1
	Backlog  time.Duration // until its queue is expected to be empty
	Lag      time.Duration // since it was heard of
	Trip     time.Duration // to its server and back
	Failures int           // errors of its function
	Bad      int           // messages refused
	Lost     int           // times that it went away with tasks
	Since    time.Time
}

// Status describes the fleet. Workers are in the order of their names.
func (h *Head) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.counts
	s := Status{Job: h.line.names.Job, URL: h.URL(), Open: len(h.open), Pending: h.plan.Pending(), Done: c.Done,
		Checked: c.Checked, Unchecked: c.Unchecked, Copies: h.plan.Copies(), Resent: c.Resent,
		Refused: h.line.refused.Load(), Strays: h.line.strays.Load(), Disputes: c.Disputes, Audited: c.Audited,
		UsedWrong: c.UsedWrong, TaskBytes: c.TaskBytes, AnswerBytes: c.AnswerBytes, BlobBytes: h.shelf.stored()}
	now := time.Now()
	total := 0.0
	costs := map[string]float64{}
	for id, m := range h.crew {
		w, cost := m.status(id, h.plan.Report(id, now), now)
		total += cost
		costs[id] = cost
		s.Workers = append(s.Workers, w)
	}
	for i := range s.Workers {
		if total > 0 {
			s.Workers[i].Share = costs[s.Workers[i].ID] / total
		}
	}
	slices.SortFunc(s.Workers, func(a, b WorkerStatus) int {
		return cmp.Or(cmp.Compare(a.About.Name, b.About.Name), cmp.Compare(a.ID, b.ID))
	})
	return s
}
