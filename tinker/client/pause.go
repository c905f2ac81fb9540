package client

import (
	"sync"
	"time"
)

// State says why requests are held up.
type State string

// The states. The server reports the middle ones.
const (
	Active      State = "active"
	Capacity    State = "paused_capacity"
	RateLimited State = "paused_rate_limit"
	Billing     State = "billing"     // 402: the account's billing must be fixed
	Unreachable State = "unreachable" // no connection, or the server fails
)

// Pause is a notice for the user.
type Pause struct {
	State  State
	Reason string // the server's text, or the error
}

// pauses counts the requests that are held up and notifies the user of changes. The same notice comes at most once a
// minute, so that a server that is often busy does not fill the screen.
type pauses struct {
	notify func(Pause)
	mu     sync.Mutex
	n      int
	last   Pause // the last notice that was not Active
	at     time.Time
	shown  bool // the user was notified of a pause that has not ended
}

func (s *pauses) report(p Pause) {
	// another error of an unreachable server is not a new reason
	again := p == s.last || p.State == Unreachable && s.last.State == Unreachable
	switch {
	case s.notify == nil:
		return
	case p.State == Active && !s.shown, again && time.Since(s.at) < time.Minute:
		return
	case p.State == Active:
		s.shown = false
	default:
		s.last, s.at, s.shown = p, time.Now(), true
	}
	s.notify(p)
}

// heldRequest is one request in pauses.
type heldRequest struct {
	of *pauses
	on bool
}

// set marks the request as held up.
func (h *heldRequest) set(state State, reason string) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if !h.on {
		h.on = true
		h.of.n++
	}
	h.of.report(Pause{state, reason})
}

// release ends the mark.
func (h *heldRequest) release() {
	if !h.on {
		return
	}
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.on = false
	if h.of.n--; h.of.n == 0 {
		h.of.report(Pause{State: Active})
	}
}
