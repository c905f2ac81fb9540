package server

import (
	"fmt"
	"sync"
)

// amount is an amount of work: requests and the bytes they take.
type amount struct {
	requests int
	bytes    int64
}

// quota counts the pending work of one kind, limits it, and divides the limit among tenants: a tenant's backlog may
// not exceed the remaining capacity. So one tenant alone fills half, two fill a third each, and a new tenant always
// finds room. The methods are safe for concurrent use.
type quota struct {
	what string // of the work, for errors
	most amount

	mu      sync.Mutex
	all     amount
	tenants map[string]*amount // those with work
}

func newQuota(what string, requests int, bytes int64) *quota {
	return &quota{what: what, most: amount{requests, bytes}, tenants: map[string]*amount{}}
}

// room returns an error if a tenant's request of that many bytes does not fit. The first request of a tenant may
// have any size.
func (q *quota) room(tenant string, bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.full(tenant, bytes)
}

// full is room; q.mu is held.
func (q *quota) full(tenant string, bytes int64) error {
	var own amount
	if t := q.tenants[tenant]; t != nil {
		own = *t
	}
	free := amount{q.most.requests - q.all.requests, q.most.bytes - q.all.bytes}
	small := own.requests < free.requests && own.bytes+bytes <= free.bytes
	first := own.requests == 0 && free.requests > 0 && free.bytes > 0
	if small || first {
		return nil
	}
	return fmt.Errorf("queue full: %d %s with %d bytes pending, %d with %d bytes of them yours; "+
		"a tenant's backlog may not exceed the remaining capacity (of %d requests and %d bytes)",
		q.all.requests, q.what, q.all.bytes, own.requests, own.bytes, q.most.requests, q.most.bytes)
}

// take adds a request whether it fits or not: a request that an earlier process accepted must be executed.
func (q *quota) take(tenant string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(tenant, amount{1, bytes})
}

// try adds a request if it fits.
func (q *quota) try(tenant string, bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.full(tenant, bytes); err != nil {
		return err
	}
	q.add(tenant, amount{1, bytes})
	return nil
}

// release removes a request that was added with the same tenant and size.
func (q *quota) release(tenant string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(tenant, amount{-1, -bytes})
}

// add changes the counts; q.mu is held.
func (q *quota) add(tenant string, n amount) {
	own := q.tenants[tenant]
	if own == nil {
		own = new(amount)
		q.tenants[tenant] = own
	}
	for _, l := range []*amount{&q.all, own} {
		l.requests, l.bytes = l.requests+n.requests, l.bytes+n.bytes
	}
	if own.requests == 0 {
		delete(q.tenants, tenant)
	}
}

// now is the pending work of all tenants, and of one.
func (q *quota) now(tenant string) (all, own amount) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.tenants[tenant]; t != nil {
		own = *t
	}
	return q.all, own
}
