package fleet

import (
	"fmt"
	"iter"
	"maps"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/schedule"
)

const (
	lostBeats = 4       // beats missed, after which a worker is lost
	mostBad   = 8       // malformed or foreign messages, after which a worker is removed
	mostCrew  = 1 << 14 // workers that the head remembers
)

// member is a worker that is or was there.
type member struct {
	about    About
	here     bool
	since    time.Time
	seen     time.Time
	trip     time.Duration
	paused   string
	draining bool // by an operator
	leaving  bool
	refused  string
	failures int             // errors of its function
	bad      int             // messages refused
	lost     int             // times that it went away with tasks
	past     schedule.Report // of its earlier times here
}

// crew is the workers that are or were there, by id.
type crew map[string]*member

// has reports whether a worker is there.
func (c crew) has(worker string) bool { return c[worker] != nil && c[worker].here }

// active are the workers that take tasks. Those that are not trusted are refused, so they are not among them.
func (c crew) active() iter.Seq2[string, *member] {
	return func(yield func(string, *member) bool) {
		for id, m := range c {
			if m.here && m.paused == "" && !m.leaving && !m.draining && m.refused == "" && !yield(id, m) {
				return
			}
		}
	}
}

// name is a worker's readable name.
func (c crew) name(worker string) string {
	if m := c[worker]; m != nil && m.about.Name != "" {
		return fmt.Sprintf("%s (%.8s)", m.about.Name, worker)
	}
	return fmt.Sprintf("%.8s", worker)
}

// namesOf lists the workers of answers.
func (c crew) namesOf(answers []answer) string {
	var names []string
	for _, a := range answers {
		names = append(names, c.name(a.worker))
	}
	return strings.Join(names, " and ")
}

// find finds a worker by its id, the beginning of it, or its name.
func (c crew) find(worker string) (string, error) {
	var found []string
	for id, m := range c {
		if id == worker {
			return id, nil
		}
		if worker != "" && (strings.HasPrefix(id, worker) || m.about.Name == worker) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("fleet: no worker %q; trinity fleet lists them", worker)
	}
	return "", fmt.Errorf("fleet: %d workers are called %q; use the id", len(found), worker)
}

// makeRoom makes room for one more member. A client with the fleet's credentials can come under any number of keys, so
// those that are gone are forgotten when there are too many.
func (c crew) makeRoom() bool {
	if len(c) >= mostCrew {
		maps.DeleteFunc(c, func(_ string, m *member) bool { return !m.here })
	}
	return len(c) < mostCrew
}

// away lists the workers that take no tasks, and since when they were not there.
func (c crew) away(now time.Time) (list []string) {
	for id, m := range c {
		switch {
		case m.refused != "":
		case m.here:
			list = append(list, fmt.Sprintf("%s takes no tasks now", c.name(id)))
		default:
			list = append(list, fmt.Sprintf("%s was there %v ago", c.name(id), now.Sub(m.seen).Round(time.Second)))
		}
	}
	return list
}

// status describes a worker, whose scheduler reports r, and returns the cost of all that it answered.
func (m *member) status(id string, r schedule.Report, now time.Time) (WorkerStatus, float64) {
	sum := m.past.Plus(r)
	w := WorkerStatus{ID: id, About: m.about, State: "here", Why: m.paused, Given: r.Given, Done: sum.Done,
		Speed: sum.Speed, Backlog: time.Duration(r.Backlog * float64(time.Second)), Lag: now.Sub(m.seen),
		Trip: m.trip, Failures: m.failures, Bad: m.bad, Lost: m.lost, Since: m.since}
	switch {
	case m.refused != "":
		w.State, w.Why = "removed", m.refused
	case !m.here:
		w.State = "lost"
	case m.draining || m.leaving:
		w.State = "draining"
	case m.paused != "":
		w.State = "paused"
	}
	return w, sum.Cost
}
