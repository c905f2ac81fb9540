package fair

import (
	"sync"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// NewBacklog returns a backlog with that limit.
func NewBacklog(most tinker.Queue) *Backlog { return &Backlog{most: most} }

// Backlog counts the waiting requests of one kind of work, and limits them. A tenant's backlog may not exceed the
// remaining capacity: one tenant alone fills half of it, two fill two thirds, and a new tenant always finds room.
type Backlog struct {
	most tinker.Queue

	mu     sync.Mutex
	all    tinker.Queue
	owners map[string]*tinker.Queue // tenants with pending requests
}

// fits returns an error if an owner's request with that many tokens does not fit; the backlog's lock is held.
func (b *Backlog) fits(owner string, tokens int) error {
	free := tinker.Queue{Requests: b.most.Requests - b.all.Requests, Tokens: b.most.Tokens - b.all.Tokens}
	own := b.owners[owner]
	if own == nil {
		own = new(tinker.Queue)
	}
	small := own.Requests < free.Requests && own.Tokens+int64(tokens) <= free.Tokens
	// a tenant's first request may have any size
	if small || own.Requests == 0 && free.Requests > 0 && free.Tokens > 0 {
		return nil
	}
	return tinker.Serverf("engine: queue full: %d requests with %d tokens pending, %d with %d of them yours: %w",
		b.all.Requests, b.all.Tokens, own.Requests, own.Tokens, tinker.ErrBusy)
}

// Take adds a request. A promised request is always accepted.
func (b *Backlog) Take(owner string, tokens int, promised bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.fits(owner, tokens); err != nil && !promised {
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

// Release removes a request that has ended.
func (b *Backlog) Release(owner string, tokens int) {
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

// Room returns an error if an owner's request with that many tokens does not fit.
func (b *Backlog) Room(owner string, tokens int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fits(owner, tokens)
}

// Now is the size of the backlog.
func (b *Backlog) Now() tinker.Queue {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all
}
