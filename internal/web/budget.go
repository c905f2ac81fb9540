package web

import (
	"net/http"
	"sync"
)

// Budget is the memory of all requests in flight: their bodies as bytes arrive, and their decoded form. A tenant's
// share may not exceed the remaining capacity: one tenant alone fills at most half, and a new tenant always finds
// room.
type Budget struct {
	most, tenant int64 // bytes: of all, of one tenant

	mu   sync.Mutex
	used int64
	own  map[string]int64 // by tenant

	turns map[string]*turns // by tenant
}

// NewBudget returns a budget of most bytes, of which one tenant may hold so many.
func NewBudget(most, tenant int64) *Budget {
	return &Budget{most: most, tenant: tenant, own: map[string]int64{}, turns: map[string]*turns{}}
}

// Share is the part of the budget that one request holds. A nil Share takes everything and holds nothing.
type Share struct {
	b      *Budget
	tenant string
	held   int64
}

// Share returns a share of the tenant that holds nothing yet.
func (b *Budget) Share(tenant string) *Share { return &Share{b: b, tenant: tenant} }

// Take reserves n more bytes. A request that alone is too large is refused permanently (413). One for which there
// is no room now may be sent again (503).
func (h *Share) Take(n int64) error {
	if h == nil {
		return nil
	}
	if most := min(h.b.tenant, h.b.most/2); h.held+n > most {
		return Problemf(http.StatusRequestEntityTooLarge,
			"the request takes %d bytes of memory, more than %d (MaxTenantBodies, MaxBodies / 2); send smaller batches",
			h.held+n, most)
	}
	b := h.b
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.own[h.tenant]
	switch {
	case own+n > b.tenant:
		return later("%d bytes of your requests are being read; the limit is %d (MaxTenantBodies)", own, b.tenant)
	case own+n > b.most-b.used-n:
		return later("%d bytes of requests are being read, %d of them yours; the limit is %d (MaxBodies), "+
			"and yours may not exceed the remaining capacity", b.used, own, b.most)
	}
	b.used += n
	b.own[h.tenant] = own + n
	h.held += n
	return nil
}

// Give returns n bytes.
func (h *Share) Give(n int64) {
	if h == nil || n == 0 {
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

// Release returns everything.
func (h *Share) Release() { h.Give(h.Held()) }

// Held is the number of bytes that the share holds.
func (h *Share) Held() int64 {
	if h == nil {
		return 0
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	return h.held
}

// InUse is the number of reserved bytes.
func (b *Budget) InUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
