package openenv

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"
)

// session is a socket with an environment behind it.
type session struct {
	*socket
	at     *endpoint
	resets int
}

// endpoint is a server and its known capacity.
type endpoint struct {
	url   func(ctx context.Context) (string, error) // of the server, which may have to be started
	open  int                                       // sessions
	limit int                                       // of them; 0: not known yet
}

// pool is the sessions on the servers of an environment. It is safe for concurrent use.
type pool struct {
	kind *kind

	mu        sync.Mutex
	endpoints []*endpoint
	idle      []*session
	waiting   []chan struct{} // in their order
	told      bool            // of the capacity
	closed    bool
	sockets   map[*socket]bool // all that are open
}

func newPool(k *kind, urls ...func(context.Context) (string, error)) *pool {
	p := &pool{kind: k, sockets: map[*socket]bool{}}
	for _, url := range urls {
		p.endpoints = append(p.endpoints, &endpoint{url: url})
	}
	return p
}

// The pauses of a pool.
const (
	leastPause = 20 * time.Millisecond
	mostPause  = time.Second
)

// take returns an unused session. If the servers are full it waits, however long that takes.
func (p *pool) take(ctx context.Context) (*session, error) {
	between, front := leastPause, false
	for {
		s, e, turn := p.next(front)
		switch {
		case s != nil && s.alive():
			return s, nil
		case s != nil:
			p.drop(s)
			continue
		case e == nil && turn == nil:
			return nil, context.Canceled
		case turn != nil:
			if err := p.await(ctx, turn); err != nil {
				return nil, err
			}
			front = true
			continue
		}
		s, err := p.connect(ctx, e)
		if err == nil {
			return s, nil
		}
		var f *fault
		full := errors.As(err, &f) && f.Code == noCapacity
		others := p.refused(e, full, f)
		if !full {
			return nil, err
		}
		front = true
		if others {
			if err := pause.For(ctx, between); err != nil {
				return nil, err
			}
			between = min(2*between, mostPause)
		}
	}
}

// next is a session, an endpoint that may have room, or a turn to wait for. front is true if the caller has
// waited before.
func (p *pool) next(front bool) (*session, *endpoint, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, nil
	}
	if front || len(p.waiting) == 0 {
		if n := len(p.idle); n > 0 {
			s := p.idle[n-1]
			p.idle = p.idle[:n-1]
			return s, nil, nil
		}
		var best *endpoint
		for _, e := range p.endpoints {
			if (e.limit == 0 || e.open < e.limit) && (best == nil || e.open < best.open) {
				best = e
			}
		}
		if best != nil {
			best.open++
			return nil, best, nil
		}
	}
	turn := make(chan struct{}, 1)
	if front {
		p.waiting = append([]chan struct{}{turn}, p.waiting...)
	} else {
		p.waiting = append(p.waiting, turn)
	}
	return nil, nil, turn
}

// await waits for a turn. Sessions of episodes that were given up are found by the garbage collector, which has nothing
// to do while everybody waits: so it is called.
func (p *pool) await(ctx context.Context, turn chan struct{}) error {
	pause := mostPause
	for {
		clock := time.NewTimer(pause)
		select {
		case <-turn:
			clock.Stop()
			return nil
		case <-ctx.Done():
			clock.Stop()
			p.leave(turn)
			return context.Cause(ctx)
		case <-clock.C:
			runtime.GC()
			pause = min(2*pause, time.Minute)
		}
	}
}

// leave gives a turn up. If it has come already the next one has it.
func (p *pool) leave(turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, t := range p.waiting {
		if t == turn {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return
		}
	}
	p.wake()
}

// wake gives the first in the queue its turn. The caller holds mu.
func (p *pool) wake() {
	if len(p.waiting) > 0 {
		p.waiting[0] <- struct{}{}
		p.waiting = p.waiting[1:]
	}
}

// connect opens a session. The server makes its environment, or says why it does not, before it answers anything.
func (p *pool) connect(ctx context.Context, e *endpoint) (*session, error) {
	a := &p.kind.args
	url, err := e.url(ctx)
	if err != nil {
		return nil, err
	}
	ws, err := dial(ctx, url, a.connect, p.kind.source.opts.Ping, a.messageCap)
	if err != nil {
		return nil, &lost{err}
	}
	if !p.keep(ws) {
		ws.close()
		return nil, context.Canceled
	}
	question, err := message("state", nil)
	if err == nil {
		var raw []byte
		if raw, err = ws.ask(ctx, "opening of a session", question, a.timeout); err == nil {
			var r reply
			if r, err = decode(raw); err == nil && r.fault != nil && r.fault.Code != raised {
				err = p.kind.explained(r.fault)
			}
		}
	}
	if err != nil {
		p.forget(ws)
		ws.close()
		return nil, err
	}
	return &session{socket: ws, at: e}, nil
}

func (p *pool) keep(ws *socket) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.sockets[ws] = true
	}
	return !p.closed
}

func (p *pool) forget(ws *socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sockets, ws)
}

// refused notes a session that could not be opened, and the capacity that the server reports. others is true if
// sessions of other clients, or sessions that are still closing, fill the server.
func (p *pool) refused(e *endpoint, full bool, f *fault) (others bool) {
	p.mu.Lock()
	e.open--
	if !full {
		p.wake()
		p.mu.Unlock()
		return false
	}
	if e.limit = f.Max; f.Max < 1 {
		e.limit = max(1, e.open)
	}
	limit, tell := e.limit, !p.told
	p.told = true
	others = e.open < e.limit
	p.mu.Unlock()
	if tell {
		p.kind.note(fmt.Sprintf("the server plays at most %d episodes at a time, and further ones wait. "+
			"MAX_CONCURRENT_ENVS=N in the server's environment allows more where the environment supports it; several "+
			"servers do everywhere (servers=N in the id, for those that are started here)", limit))
	}
	return others
}

// rest keeps a session for another episode.
func (p *pool) rest(s *session) {
	p.mu.Lock()
	if p.closed || !s.alive() {
		p.mu.Unlock()
		p.drop(s)
		return
	}
	p.idle = append(p.idle, s)
	p.wake()
	p.mu.Unlock()
}

// drop closes a session. It returns when the server has closed it too, or a second later.
func (p *pool) drop(s *session) {
	s.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sockets, s.socket)
	s.at.open--
	p.wake()
}

// close closes all sessions.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.idle = nil
	all := p.sockets
	p.sockets = map[*socket]bool{}
	for len(p.waiting) > 0 {
		p.wake()
	}
	p.mu.Unlock()
	var wait sync.WaitGroup
	for ws := range all {
		wait.Go(ws.close)
	}
	wait.Wait()
}
