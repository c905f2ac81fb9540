package server

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// budget is the memory of all requests in flight: their bodies as bytes arrive, and what they decode to. A tenant's
// share may not exceed the remaining capacity: one tenant alone fills at most half, and a new tenant always finds
// room.
type budget struct {
	most, tenant int64 // Options.MaxBodies and MaxTenantBodies

	mu   sync.Mutex
	used int64
	own  map[string]int64 // by tenant
}

func newBudget(most, tenant int64) *budget {
	return &budget{most: most, tenant: tenant, own: map[string]int64{}}
}

// reservation is the part of the budget that one request holds.
type reservation struct {
	b      *budget
	tenant string
	held   int64
}

func (b *budget) share(tenant string) *reservation { return &reservation{b: b, tenant: tenant} }

// take reserves n more bytes. A request that is too large by itself is refused permanently (413). One for which there
// is no room now may be sent again (503).
func (h *reservation) take(n int64) error {
	if most := min(h.b.tenant, h.b.most/2); h.held+n > most {
		return status(http.StatusRequestEntityTooLarge,
			"the request takes %d bytes of memory, more than %d (MaxTenantBodies, MaxBodies / 2); send smaller batches",
			h.held+n, most)
	}
	b := h.b
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.own[h.tenant]
	switch {
	case own+n > b.tenant:
		return laterf("%d bytes of your requests are being read; the limit is %d (MaxTenantBodies)", own,
			b.tenant)
	case own+n > b.most-b.used-n:
		return laterf("%d bytes of requests are being read, %d of them yours; the limit is %d (MaxBodies), "+
			"and yours may not exceed the remaining capacity", b.used, own, b.most)
	}
	b.used += n
	b.own[h.tenant] = own + n
	h.held += n
	return nil
}

// give returns n bytes.
func (h *reservation) give(n int64) {
	if n == 0 {
		return
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	h.held -= n
	h.b.used -= n
	if h.b.own[h.tenant] -= n; h.b.own[h.tenant] == 0 {
		delete(h.b.own, h.tenant)
	}
}

// release returns everything.
func (h *reservation) release() { h.give(h.held) }

// laterf is an error that asks the client to send the request again later.
func laterf(format string, args ...any) error {
	return &statusError{http.StatusServiceUnavailable, fmt.Errorf(format+"; send this one again later", args...),
		time.Second}
}

// inUse is the number of reserved bytes.
func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
