// Package synchronizer is what lies between the loops about weights: which version an explore step samples with, and
// the wait until the trainer has published it.
//
// A version is the train step after which weights were published; version 0 is the weights a run starts from. In style
// fixed an explore step uses the version that interval and offset name for it, never merely the newest, so that neither
// scheduling nor resuming changes what is sampled. In the two driven styles it depends on who comes first; then the log
// of events (Order) says what happened, and a restarted run keeps to it.
package synchronizer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Schedule says when weights travel: every Interval steps, with the explorer Offset steps ahead.
type Schedule struct {
	Interval int // at least 1
	Offset   int // 0 is on-policy when Interval is 1
}

// Version returns the version that explore step (1, 2, …) samples with.
//
//	interval 1, offset 0: 0 1 2 3 …   interval 1, offset 1: 0 0 1 2 …   interval 2, offset 1: 0 0 0 2 2 4 …
func (s Schedule) Version(step int) int {
	behind := step - 1 - s.Offset
	if behind < 0 {
		return 0
	}
	return behind / s.Interval * s.Interval
}

// Publishes reports whether the trainer publishes after train step.
func (s Schedule) Publishes(step int) bool { return step%s.Interval == 0 }

// Due reports whether the explorer asks for newer weights before explore step: every Interval steps behind the first
// Offset.
func (s Schedule) Due(step int) bool {
	behind := step - 1 - s.Offset
	return behind > 0 && behind%s.Interval == 0
}

// Style says who decides which weights an explore step samples with.
type Style int

// The styles. In both driven ones the explorer takes the newest weights when it is due, and waits for newer ones as
// long as the trainer is at work on them.
const (
	Fixed          Style = iota // interval and offset
	TrainerDriven               // the trainer publishes every Interval steps
	ExplorerDriven              // the trainer publishes when an explorer asks
)

// ErrGone means that a version is not there and that the trainer, which has published newer ones, will not publish it
// any more.
var ErrGone = errors.New("synchronizer: weights are gone")

// ErrStopped means that the trainer ended before it published the version.
var ErrStopped = errors.New("synchronizer: the trainer has stopped")

// Synchronizer holds the published versions. It is safe for concurrent use.
type Synchronizer struct {
	Schedule
	// Tell, if set before use, hears what the explorer is about to do: it asks for weights, or samples a step with the
	// version it names.
	Tell func(ExplorerStatus) error

	style   Style
	order   *Order // nil when fixed
	timeout time.Duration

	mu      sync.Mutex
	paths   map[int]string
	coming  map[int]bool // promised
	newest  int
	current int // what the explorer samples with; -1 before the first step
	asks    bool
	idle    bool
	stopped bool
	changed chan struct{} // closed and replaced at every change
}

// New makes a Synchronizer whose Wait gives up after timeout; 0 waits for ever.
func New(s Schedule, timeout time.Duration) *Synchronizer {
	return &Synchronizer{Schedule: s, timeout: timeout, paths: map[int]string{}, newest: -1, current: -1,
		changed: make(chan struct{})}
}

// NewDriven makes a Synchronizer of one of the driven styles, which keeps its choices in order.
func NewDriven(style Style, s Schedule, timeout time.Duration, order *Order) *Synchronizer {
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
// those that it publishes anew.
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
// they stay there for some seconds: then they are gone for good. Only whoever follows the trainer of another process
// hears of it.
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
	if s.idle != idle {
		s.idle = idle
		s.wake()
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

// Next returns the version that explore step samples with and the path of its weights, waiting until there are such.
func (s *Synchronizer) Next(ctx context.Context, step int) (version int, path string, err error) {
	if s.style == Fixed {
		version = s.Version(step)
	} else if version, err = s.choose(ctx, step); err != nil {
		return 0, "", err
	}
	if s.Tell != nil {
		if err := s.Tell(ExplorerStatus{Step: step, Version: version}); err != nil {
			return 0, "", err
		}
	}
	wanted := version
	if version, path, err = s.wait(ctx, wanted, s.style == Fixed); err != nil {
		return 0, "", err
	}
	if s.Tell != nil && version != wanted {
		if err := s.Tell(ExplorerStatus{Step: step, Version: version}); err != nil {
			return 0, "", err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = version
	return version, path, nil
}

// Short reports whether a version is older than what a step of style fixed samples with by interval and offset.
func (s *Synchronizer) Short(step, version int) bool {
	return s.style == Fixed && version < s.Version(step)
}

// choose settles what a step of a driven style samples with: as it was settled before, or now.
func (s *Synchronizer) choose(ctx context.Context, step int) (int, error) {
	if v, ok := s.order.Version(step); ok {
		return v, nil
	}
	s.mu.Lock()
	first := false
	if s.current < 0 { // the first step of this process
		v, ok := s.order.before(step)
		if first = !ok; first {
			v = max(0, s.newest)
		}
		s.current = v
	}
	if _, there := s.paths[s.current]; !there && s.newest > s.current {
		s.current = s.newest // an older program kept the last weights alone
	}
	version := s.current
	s.mu.Unlock()
	if s.Due(step) && !first {
		var err error
		if version, err = s.newer(ctx, step, version); err != nil {
			return 0, err
		}
	}
	return version, s.order.Note(Sampled, step, version, "")
}

// newer waits for a version above current, unless the trainer has none to come.
func (s *Synchronizer) newer(ctx context.Context, step, current int) (int, error) {
	if s.Tell != nil {
		if err := s.Tell(ExplorerStatus{Step: step, Version: current, Asks: true}); err != nil {
			return 0, err
		}
	}
	s.setAsks(true)
	defer s.setAsks(false)
	var timeout <-chan time.Time
	if s.timeout > 0 {
		t := time.NewTimer(s.timeout)
		defer t.Stop()
		timeout = t.C
	}
	for {
		s.mu.Lock()
		newest, idle, stopped, changed := s.newest, s.idle, s.stopped, s.changed
		s.mu.Unlock()
		switch {
		case newest > current:
			return newest, nil
		case stopped:
			return 0, ErrStopped
		case idle:
			return current, nil
		}
		select {
		case <-changed:
		case <-timeout:
			return 0, fmt.Errorf("synchronizer: no weights newer than version %d were published within %v; raise "+
				"synchronizer.sync_timeout if the trainer's steps take that long", current, s.timeout)
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

func (s *Synchronizer) setAsks(asks bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks = asks
	s.wake()
}

// Needed is the oldest version that may still be asked for when step is the first explore step that is not wholly
// trained.
func (s *Synchronizer) Needed(step int) int {
	if s.style == Fixed {
		return s.Version(step)
	}
	if v, ok := s.order.Version(step); ok {
		return v
	}
	if v, ok := s.order.before(step); ok {
		return v
	}
	return 0
}

// Wait returns the path of a version as soon as it is published. Versions come in ascending order, promised ones aside:
// the error is ErrGone at once when there is a newer one and not this.
func (s *Synchronizer) Wait(ctx context.Context, version int) (path string, err error) {
	_, path, err = s.wait(ctx, version, false)
	return path, err
}

// wait waits for a version. If the trainer has used up all experiences and is short of the next batch, as too many were
// dropped, it would never come; then, orNewest, the newest there is takes its place. Both loops stand still at that
// point, so which one that is depends on the experiences alone, and a restarted run finds the same.
func (s *Synchronizer) wait(ctx context.Context, version int, orNewest bool) (got int, path string, err error) {
	var timeout <-chan time.Time
	if s.timeout > 0 {
		t := time.NewTimer(s.timeout)
		defer t.Stop()
		timeout = t.C
	}
	for {
		s.mu.Lock()
		path, ok := s.paths[version]
		stopped, idle, changed, newest := s.stopped, s.idle, s.changed, s.newest
		instead, gone := s.paths[newest], version < newest && !s.coming[version]
		s.mu.Unlock()
		switch {
		case ok:
			return version, path, nil
		case gone:
			return 0, "", fmt.Errorf("%w: version %d was deleted (the newest is %d); set synchronizer.sync_offset=0 "+
				"and synchronizer.sync_interval=1 "+
				"to go on with the newest, or use another name for a new job", ErrGone, version, newest)
		case stopped:
			return 0, "", fmt.Errorf("%w before weights version %d was published (the newest is %d)", ErrStopped,
				version, newest)
		case orNewest && idle && 0 <= newest && newest < version:
			return newest, instead, nil
		}
		select {
		case <-changed:
		case <-timeout:
			return 0, "", fmt.Errorf("synchronizer: weights version %d was not published within %v (the newest is "+
				"%d); is the trainer short of experiences? raise synchronizer.sync_timeout if steps take that long",
				version, s.timeout, newest)
		case <-ctx.Done():
			return 0, "", context.Cause(ctx)
		}
	}
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
