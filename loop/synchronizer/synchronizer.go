// Package synchronizer decides which weights each explore step samples with, waits for them, and
// the wait until the trainer has published it.
//
// A version is the train step after which weights were published; version 0 is the weights a run starts from. In styles
// Fixed and FullyAsync an explore step uses the version that a rule names for it, never merely the newest, so that
// neither scheduling nor resuming changes what is sampled. In the other styles it depends on who comes first; then the
// log of events (Order) says what happened, and a restarted run keeps to it.
package synchronizer

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Style says who decides which weights an explore step samples with.
type Style int

// The styles. In both driven ones the explorer takes the newest weights when it is due, and waits for newer ones as
// long as the trainer is at work on them.
const (
	Fixed          Style = iota // interval and offset, counted in explore steps
	TrainerDriven               // the trainer publishes every Publish steps
	ExplorerDriven              // the trainer publishes when an explorer asks
	FullyAsync                  // as fixed, with a window of steps, counted in the train steps that they feed
	Newest                      // each step takes the newest when it begins, and waits for none
)

// clocked reports whether the clock decides which weights a step samples with.
func (s Style) clocked() bool { return s != Fixed && s != FullyAsync }

// ErrGone means that a version is not there and that the trainer, which has published newer ones, will not publish it
// any more.
var ErrGone = errors.New("synchronizer: weights are gone")

// ErrStopped means that the trainer ended before it published the version.
var ErrStopped = errors.New("synchronizer: the trainer has stopped")

// Synchronizer holds the published versions. It is safe for concurrent use.
type Synchronizer struct {
	Schedule
	// Tell, if set before use, is told what the explorer is about to do: it asks for weights, or samples a step with
	// the version it names.
	Tell func(ExplorerStatus) error

	style   Style
	order   *Order // nil when Fixed
	timeout time.Duration

	mu      sync.Mutex
	paths   map[int]string
	coming  map[int]bool // promised
	newest  int
	current int // what the explorer samples with; -1 before the first step
	asks    bool
	idle    bool
	said    int // calls of SetIdle
	stopped bool
	changed chan struct{} // closed and replaced at every change
}

// New makes a Synchronizer whose Wait gives up after timeout; 0 waits forever.
func New(s Schedule, timeout time.Duration) *Synchronizer {
	return &Synchronizer{Schedule: s, timeout: timeout, paths: map[int]string{}, newest: -1, current: -1,
		changed: make(chan struct{})}
}

// NewStyle makes a Synchronizer of a style other than Fixed, which keeps in order what a restarted run must know.
func NewStyle(style Style, s Schedule, timeout time.Duration, order *Order) *Synchronizer {
	d := New(s, timeout)
	d.style, d.order = style, order
	return d
}

// Publish makes a version known by the path of its weights; the empty path is the base model.
func (s *Synchronizer) Publish(version int, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths[version] = path
	s.newest = max(s.newest, version)
	s.wake()
}

// path is where a version's weights are, if it is known.
func (s *Synchronizer) path(version int) (path string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, known = s.paths[version]
	return path, known
}

// keepOnly forgets the published versions that are not in there, but for version 0: a trainer that went back deletes
// those that it publishes again.
func (s *Synchronizer) keepOnly(there map[int]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := -1
	for v := range s.paths {
		if _, ok := there[v]; !ok && v > 0 {
			delete(s.paths, v)
			continue
		}
		newest = max(newest, v)
	}
	if newest != s.newest {
		s.newest = newest
		s.wake()
	}
}

// replacedWithin is how long an explorer in a process of its own looks whether weights that it does not find are being
// replaced.
const replacedWithin = 5 * time.Second

// Replaced waits until a version's weights are elsewhere than at path, or not known any more. It returns false when
// they stay there for some seconds: then they are gone for good. Only an explorer that follows the trainer of another
// process learns of it.
func (s *Synchronizer) Replaced(ctx context.Context, version int, path string) bool {
	give := time.NewTimer(replacedWithin)
	defer give.Stop()
	for {
		s.mu.Lock()
		now, known := s.paths[version]
		changed := s.changed
		s.mu.Unlock()
		if !known || now != path {
			return true
		}
		select {
		case <-changed:
		case <-give.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// Known reports whether a version is published and not yet retired.
func (s *Synchronizer) Known(version int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.paths[version]
	return ok
}

// Expected reports whether a version is there or was promised.
func (s *Synchronizer) Expected(version int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.paths[version]
	return ok || s.coming[version]
}

// Promise says that versions will be published although newer ones are known already.
func (s *Synchronizer) Promise(versions ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.coming = map[int]bool{}
	for _, v := range versions {
		s.coming[v] = true
	}
}

// SetIdle says whether the trainer waits for experiences: then it has no newer weights to offer than those it has
// published.
func (s *Synchronizer) SetIdle(idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said++
	s.setIdle(idle)
}

// setIdle is SetIdle; s.mu is held.
func (s *Synchronizer) setIdle(idle bool) {
	if s.idle != idle {
		s.idle = idle
		s.wake()
	}
}

// idleSaid counts the calls of SetIdle.
func (s *Synchronizer) idleSaid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said
}

// setIdleAsOf is SetIdle with what was found after the count said of idleSaid: it does nothing if SetIdle was called
// since, which knows better.
func (s *Synchronizer) setIdleAsOf(said int, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said == said {
		s.setIdle(idle)
	}
}

// Asks reports whether the explorer waits for newer weights.
func (s *Synchronizer) Asks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asks
}

// Newest is the newest version that is published, -1 for none.
func (s *Synchronizer) Newest() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

// Newer waits for a version above the given one and returns the newest.
func (s *Synchronizer) Newer(ctx context.Context, above int) (version int, path string, err error) {
	for {
		s.mu.Lock()
		version, changed := s.newest, s.changed
		path := s.paths[version]
		s.mu.Unlock()
		if version > above {
			return version, path, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, "", context.Cause(ctx)
		}
	}
}

// Stop says that nothing more will be published.
func (s *Synchronizer) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.stopped = true
		s.wake()
	}
}

func (s *Synchronizer) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Retire forgets the versions below keep and returns the paths of their weights, which nobody will ask for any more.
// Those that spare names stay; spare may be nil.
func (s *Synchronizer) Retire(keep int, spare func(version int) bool) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var paths []string
	for v := range keep {
		if path, ok := s.paths[v]; ok && (spare == nil || !spare(v)) {
			if path != "" {
				paths = append(paths, path)
			}
			delete(s.paths, v)
		}
	}
	return paths
}
