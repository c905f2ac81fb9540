package capacity

import (
	"fmt"
	"sync"
)

// Amount is an amount of work: requests and the bytes they take.
type Amount struct {
	Requests int
	Bytes    int64
}

// Quota counts the pending work of one kind, limits it, and divides the limit among tenants: a tenant's backlog may
// not exceed the remaining capacity. So one tenant alone fills half, two fill a third each, and a new tenant always
// finds room. The methods are safe for concurrent use.
type Quota struct {
	What string // of the work, for errors
	most Amount

	mu      sync.Mutex
	all     Amount
	Tenants map[string]*Amount // those with work
}

func NewQuota(what string, requests int, bytes int64) *Quota {
	return &Quota{What: what, most: Amount{requests, bytes}, Tenants: map[string]*Amount{}}
}

// room returns an error if a tenant's request of that many bytes does not fit. The first request of a tenant may
// have any size.
func (q *Quota) room(tenant string, bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.full(tenant, bytes)
}

// full is room; q.mu is held.
func (q *Quota) full(tenant string, bytes int64) error {
	var own Amount
	if t := q.Tenants[tenant]; t != nil {
		own = *t
	}
	free := Amount{q.most.Requests - q.all.Requests, q.most.Bytes - q.all.Bytes}
	small := own.Requests < free.Requests && own.Bytes+bytes <= free.Bytes
	first := own.Requests == 0 && free.Requests > 0 && free.Bytes > 0
	if small || first {
		return nil
	}
	return fmt.Errorf("queue full: %d %s with %d bytes pending, %d with %d bytes of them yours; "+
		"a tenant's backlog may not exceed the remaining capacity (of %d requests and %d bytes)",
		q.all.Requests, q.What, q.all.Bytes, own.Requests, own.Bytes, q.most.Requests, q.most.Bytes)
}

// Take adds a request whether it fits or not: a request that an earlier process accepted must be executed.
func (q *Quota) Take(tenant string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(tenant, Amount{1, bytes})
}

// Try adds a request if it fits.
func (q *Quota) Try(tenant string, bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.full(tenant, bytes); err != nil {
		return err
	}
	q.add(tenant, Amount{1, bytes})
	return nil
}

// Release removes a request that was added with the same tenant and size.
func (q *Quota) Release(tenant string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(tenant, Amount{-1, -bytes})
}

// add changes the counts; q.mu is held.
func (q *Quota) add(tenant string, n Amount) {
	own := q.Tenants[tenant]
	if own == nil {
		own = new(Amount)
		q.Tenants[tenant] = own
	}
	for _, l := range []*Amount{&q.all, own} {
		l.Requests, l.Bytes = l.Requests+n.Requests, l.Bytes+n.Bytes
	}
	if own.Requests == 0 {
		delete(q.Tenants, tenant)
	}
}

// Now is the pending work of all tenants, and of one.
func (q *Quota) Now(tenant string) (all, own Amount) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.Tenants[tenant]; t != nil {
		own = *t
	}
	return q.all, own
}
