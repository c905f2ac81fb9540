package engine

import (
	"sync"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// backlog counts what waits of one kind of work, and bounds it. Nobody may have more waiting than there is room left, so one
// owner alone fills half of it, two two thirds, and whoever comes anew finds room.
type backlog struct {
	most tinker.Queue

	mu     sync.Mutex
	all    tinker.Queue
	owners map[string]*tinker.Queue // who has something waiting
}

// room returns an error if an owner's request of so many tokens is too much; the backlog's lock is held.
func (b *backlog) room(owner string, tokens int) error {
	free := tinker.Queue{Requests: b.most.Requests - b.all.Requests, Tokens: b.most.Tokens - b.all.Tokens}
	own := b.owners[owner]
	if own == nil {
		own = new(tinker.Queue)
	}
	small := own.Requests < free.Requests && own.Tokens+int64(tokens) <= free.Tokens
	if small || own.Requests == 0 && free.Requests > 0 && free.Tokens > 0 { // the first one may be as large as it likes
		return nil
	}
	return tinker.Serverf("engine: %d requests with %d tokens wait, %d and %d of them yours: %w", b.all.Requests, b.all.Tokens, own.Requests, own.Tokens, tinker.ErrBusy)
}

// take counts a request in. One that was promised is taken in any case.
func (b *backlog) take(owner string, tokens int, promised bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.room(owner, tokens); err != nil && !promised {
		return err
	}
	own := b.owners[owner]
	if own == nil {
		if b.owners == nil {
			b.owners = map[string]*tinker.Queue{}
		}
		own = new(tinker.Queue)
		b.owners[owner] = own
	}
	for _, q := range []*tinker.Queue{&b.all, own} {
		q.Requests, q.Tokens = q.Requests+1, q.Tokens+int64(tokens)
	}
	return nil
}

// release counts a request out that has ended.
func (b *backlog) release(owner string, tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.owners[owner]
	for _, q := range []*tinker.Queue{&b.all, own} {
		q.Requests, q.Tokens = q.Requests-1, q.Tokens-int64(tokens)
	}
	if own.Requests == 0 {
		delete(b.owners, owner)
	}
}

func (b *backlog) now() tinker.Queue {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all
}

var _ tinker.Bounded = (*Engine)(nil)

// Room implements tinker.Bounded.
func (e *Engine) Room(work tinker.Work, owner string, tokens int) error {
	b := &e.waiting[work]
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.room(owner, tokens)
}
