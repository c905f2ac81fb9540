// Package replay plays episodes elsewhere: on a server, in another process, in a program that drives its own loop. An
// episode is how it began and the actions so far. If its place is lost, it is played again at another place, and must
// be answered in the same way.
package replay

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"
)

// Game says how an episode is played at a place P, with actions A and answers R. Free, Alive, Fixed and Replayed may be
// zero.
type Game[P comparable, A, R any] struct {
	From  string // decides the episode, for messages: seed 7
	Open  func() (P, error)
	Reset func(P) (R, error)
	Play  func(P, A) (R, error)
	Heard func(R) string // the part of an answer that a replay must repeat

	Free  func(P) // keeps a place for another episode; nil: as End
	End   func(P) // gives a place up. It is called by the garbage collector too, so it must not refer to the Episode.
	Alive func(P) bool

	Context  context.Context  // ends attempts
	Pauses   []time.Duration  // before each attempt
	Lost     func(error) bool // the place is lost, and another attempt may work
	Harmless func(error) bool // the place is as good as before
	Fixed    error            // why the episode cannot be played again; nil: it can
	Replayed func()           // hears of each replay
}

// digest is a hash of Game.Heard, to compare replays.
type digest [sha256.Size]byte

// holder owns a place. When nobody holds the holder any more, the place is given up.
type holder[P comparable] struct {
	place   P
	cleanup runtime.Cleanup
}

// share is the place of an episode and its forks. The first that plays on takes it; the others play the episode again.
type share[P comparable] struct {
	mu sync.Mutex
	h  *holder[P]
}

func (s *share[P]) take() *holder[P] {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.h
	s.h = nil
	return h
}

// Episode is an episode that is being played. It is for one goroutine.
type Episode[P comparable, A, R any] struct {
	game    *Game[P, A, R]
	actions []A
	heard   []digest   // of the reset and of every action
	at      *holder[P] // the place
	shared  *share[P]  // or the one that forks share; both nil: the episode has to be played again
}

// Begin begins an episode.
func Begin[P comparable, A, R any](g *Game[P, A, R]) (e *Episode[P, A, R], r R, err error) {
	e = &Episode[P, A, R]{game: g}
	err = e.attempt(func() (err error) {
		r, err = e.reset()
		return err
	})
	if err == nil {
		e.heard = append(e.heard, e.digest(r))
	}
	return e, r, err
}

// reset takes a place and begins the episode there.
func (e *Episode[P, A, R]) reset() (r R, err error) {
	p, err := e.game.Open()
	if err != nil {
		return r, err
	}
	e.hold(p)
	return e.game.Reset(p)
}

func (e *Episode[P, A, R]) hold(p P) {
	e.at = &holder[P]{place: p}
	e.at.cleanup = runtime.AddCleanup(e.at, e.game.End, p)
}

func (e *Episode[P, A, R]) digest(r R) digest { return sha256.Sum256([]byte(e.game.Heard(r))) }

// Step plays an action.
func (e *Episode[P, A, R]) Step(a A) (r R, err error) {
	err = e.Do(func(p P) (err error) {
		r, err = e.game.Play(p, a)
		return err
	})
	if err == nil {
		e.actions, e.heard = append(e.actions, a), append(e.heard, e.digest(r))
	}
	return r, err
}

// Do calls f with the place where the episode is, and again with another one if the place is lost.
func (e *Episode[P, A, R]) Do(f func(P) error) error {
	return e.attempt(func() error {
		if err := e.come(); err != nil {
			return err
		}
		return f(e.at.place)
	})
}

// attempt makes calls again that were lost with their place. After an error the place is given up, unless it does no
// harm.
func (e *Episode[P, A, R]) attempt(f func() error) (err error) {
	g := e.game
	for _, wait := range g.Pauses {
		if wait > 0 {
			if err := pause.For(g.Context, wait); err != nil {
				return err
			}
		}
		err = f()
		runtime.KeepAlive(e)
		if err == nil || g.Harmless != nil && g.Harmless(err) {
			return err
		}
		e.Abandon()
		if g.Lost == nil || !g.Lost(err) || g.Context.Err() != nil || len(e.heard) > 0 && g.Fixed != nil {
			return err
		}
	}
	return err
}

// come brings the episode to where it is: it takes the place that forks share, or plays the episode again.
func (e *Episode[P, A, R]) come() error {
	g := e.game
	if e.at == nil && e.shared != nil {
		e.at, e.shared = e.shared.take(), nil
	}
	if e.at != nil && (g.Alive == nil || g.Alive(e.at.place) || g.Fixed != nil) {
		return nil
	}
	e.Abandon()
	if g.Fixed != nil {
		return g.Fixed
	}
	if g.Replayed != nil {
		g.Replayed()
	}
	r, err := e.reset()
	for i := 0; err == nil; i++ {
		if e.digest(r) != e.heard[i] {
			return fmt.Errorf("played again from %s, action %d of %d is answered in another way, with %.200q: the "+
				"environment does not draw everything from %[1]s", g.From, i, len(e.actions), g.Heard(r))
		}
		if i == len(e.actions) {
			return nil
		}
		r, err = g.Play(e.at.place, e.actions[i])
	}
	return err
}

// Fork returns an episode with the same past, which game plays on. copied is its place; if it is zero, the first of the
// two that plays on keeps the place, and the other is played again.
func (e *Episode[P, A, R]) Fork(game *Game[P, A, R], copied P) *Episode[P, A, R] {
	f := &Episode[P, A, R]{game: game, actions: slices.Clone(e.actions), heard: slices.Clone(e.heard)}
	var none P
	switch {
	case copied != none:
		f.hold(copied)
		return f
	case e.at != nil:
		e.shared, e.at = &share[P]{h: e.at}, nil
	}
	f.shared = e.shared
	return f
}

// Leave ends the episode and keeps its place for another one.
func (e *Episode[P, A, R]) Leave() {
	if e.game.Free == nil {
		e.Abandon()
	} else if p, has := e.release(); has {
		e.game.Free(p)
	}
}

// Abandon gives up the place of the episode.
func (e *Episode[P, A, R]) Abandon() {
	if p, has := e.release(); has {
		e.game.End(p)
	}
}

// At is the place of the episode, if it has one of its own.
func (e *Episode[P, A, R]) At() (p P, has bool) {
	if e.at == nil {
		return p, false
	}
	return e.at.place, true
}

func (e *Episode[P, A, R]) release() (p P, has bool) {
	if e.at == nil {
		return p, false
	}
	p = e.at.place
	e.at.cleanup.Stop()
	e.at = nil
	return p, true
}
