// Package synchronizer is what lies between the loops about weights: which version an explore step samples with, and the
// wait until the trainer has published it.
//
// A version is the train step after which weights were published; version 0 is the weights a run starts from. An explore step uses
// the version that interval and offset name for it, never merely the newest, so that neither scheduling nor resuming
// changes what is sampled.
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

// ErrStopped means that the trainer ended before it published the version.
var ErrStopped = errors.New("synchronizer: the trainer has stopped")

// Synchronizer holds the published versions. It is safe for concurrent use.
type Synchronizer struct {
	Schedule
	timeout time.Duration

	mu      sync.Mutex
	paths   map[int]string
	newest  int
	stopped bool
	changed chan struct{} // closed and replaced at every change
}

// New makes a Synchronizer whose Wait gives up after timeout; 0 waits for ever.
func New(s Schedule, timeout time.Duration) *Synchronizer {
	return &Synchronizer{Schedule: s, timeout: timeout, paths: map[int]string{}, newest: -1, changed: make(chan struct{})}
}

// Publish makes a version known by the path of its weights; the empty path is the base model.
func (s *Synchronizer) Publish(version int, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths[version] = path
	s.newest = max(s.newest, version)
	s.wake()
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

// Wait returns the path of a version as soon as it is published.
func (s *Synchronizer) Wait(ctx context.Context, version int) (path string, err error) {
	var timeout <-chan time.Time
	if s.timeout > 0 {
		t := time.NewTimer(s.timeout)
		defer t.Stop()
		timeout = t.C
	}
	for {
		s.mu.Lock()
		path, ok := s.paths[version]
		stopped, changed, newest := s.stopped, s.changed, s.newest
		s.mu.Unlock()
		switch {
		case ok:
			return path, nil
		case stopped:
			return "", fmt.Errorf("%w before weights version %d was published (the newest is %d)", ErrStopped, version, newest)
		}
		select {
		case <-changed:
		case <-timeout:
			return "", fmt.Errorf("synchronizer: weights version %d was not published within %v (the newest is %d); is the trainer short of experiences? raise synchronizer.sync_timeout if steps take that long", version, s.timeout, newest)
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// Retire forgets the versions below keep and returns the paths of their weights, which nobody will ask for any more. Those that spare
// names stay; spare may be nil.
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
