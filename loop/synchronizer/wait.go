package synchronizer

import (
	"context"
	"fmt"
	"time"
)

// Next returns the version that explore step samples with and the path of its weights, waiting until there are such.
func (s *Synchronizer) Next(ctx context.Context, step int) (version int, path string, err error) {
	if version, err = s.choose(ctx, step); err != nil {
		return 0, "", err
	}
	if err := s.tell(step, version); err != nil {
		return 0, "", err
	}
	wanted := version
	if version, path, err = s.wait(ctx, wanted, !s.style.clocked()); err != nil {
		return 0, "", err
	}
	if version != wanted {
		if err := s.tell(step, version); err != nil {
			return 0, "", err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = version
	return version, path, nil
}

// tell says which step begins, and the oldest version that a step under way samples with.
func (s *Synchronizer) tell(step, version int) error {
	if s.Tell == nil {
		return nil
	}
	if oldest := max(1, step+1-s.Window); s.Window > 1 && oldest < step {
		version = min(version, s.Needed(oldest))
	}
	return s.Tell(ExplorerStatus{Step: step, Version: version})
}

// Ruled is the version that a rule names for a step. known is false in the styles that have none, and for a step of
// FullyAsync that comes after steps which are not handed over yet.
func (s *Synchronizer) Ruled(step int) (version int, known bool) {
	switch {
	case s.style == Fixed:
		return s.Version(step), true
	case s.style.clocked():
		return 0, false
	}
	trained, known := s.order.trained(s.learned(step))
	return s.published(trained), known
}

// choose settles what a step samples with: by the rule, as it was settled before, or now.
func (s *Synchronizer) choose(ctx context.Context, step int) (int, error) {
	if !s.style.clocked() {
		v, known := s.Ruled(step)
		if !known {
			return 0, fmt.Errorf("synchronizer: explore step %d begins before step %d is handed over", step,
				s.learned(step))
		}
		return v, nil
	}
	if v, ok := s.order.Version(step); ok {
		return v, nil
	}
	if s.style == Newest {
		v := max(0, s.Newest())
		return v, s.order.Note(Sampled, step, v, "")
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
	if !s.style.clocked() {
		v, _ := s.Ruled(step)
		return v
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
				"and synchronizer.sync_interval=1 to continue with the newest, or use another name for a new "+
				"job", ErrGone, version, newest)
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
