package openenv

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// digest is what was said, to compare a replay with.
type digest [sha256.Size]byte

func digestOf(text string, r reply) digest {
	return sha256.Sum256(fmt.Appendf(nil, "%v %v %v %s", r.reward, r.rewarded, r.done, text))
}

// holder owns a session. When nobody holds the holder any more, the session is closed.
type holder struct {
	*session
	cleanup runtime.Cleanup
}

func (e *Env) hold(s *session) *holder {
	h := &holder{session: s}
	k := e.kind
	h.cleanup = runtime.AddCleanup(h, func(s *session) { k.source.background(func() { k.pool.drop(s) }) }, s)
	return h
}

// place is the session that an Env and its forks share until one of them plays on: it takes the session, and the others
// play the episode again when their turn comes.
type place struct {
	mu sync.Mutex
	h  *holder
}

func (p *place) take() *holder {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.h
	p.h = nil
	return h
}

// begin takes a session and resets it.
func (e *Env) begin(ctx context.Context) (reply, string, error) {
	k := e.kind
	s, err := k.pool.take(ctx)
	for err == nil && k.fresh && s.resets > 0 {
		k.pool.drop(s)
		s, err = k.pool.take(ctx)
	}
	if err != nil {
		return reply{}, "", err
	}
	e.at = e.hold(s)
	return k.reset(ctx, s, e.seed, e.index, e.record)
}

// come brings the episode to where it is, if it is nowhere: by playing it again.
func (e *Env) come(ctx context.Context) error {
	if e.at == nil && e.shared != nil {
		e.at, e.shared = e.shared.take(), nil
	}
	if e.at != nil && (e.at.alive() || !e.kind.steady) {
		return nil
	}
	e.abandon()
	if !e.kind.steady {
		return errors.New("the session is gone, and the episode cannot be played again, since the server ignores seeds")
	}
	e.record.Replays++
	r, text, err := e.begin(ctx)
	for i := 0; err == nil; i++ {
		if digestOf(text, r) != e.heard[i] {
			return fmt.Errorf("played again from seed %d, action %d of %d is answered in another way, with %q: the "+
				"environment does not draw everything from reset's seed", e.seed, i, len(e.sent), cut(text, 200))
		}
		if i == len(e.sent) {
			return nil
		}
		r, text, err = e.act(e.sent[i])
	}
	return err
}

// persist makes calls again that were lost with their session. After an error other than a player's mistake the session
// is not used again.
func (e *Env) persist(f func() error) (err error) {
	for _, pause := range e.kind.source.pause {
		if pause > 0 {
			if serr := sleep(e.kind.source.ctx, pause); serr != nil {
				return serr
			}
		}
		err = f()
		runtime.KeepAlive(e)
		if err == nil || errors.As(err, new(*mistake)) {
			return err
		}
		e.abandon()
		if !errors.As(err, new(*lost)) || e.kind.source.ctx.Err() != nil || len(e.heard) > 0 && !e.kind.steady {
			return err
		}
	}
	return err
}
