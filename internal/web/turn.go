package web

import (
	"context"
	"runtime"
)

// turns limits how many requests of a tenant are decoded at a time. So many requests of one tenant leave processors to
// another, and wait for each other before they take memory.
type turns struct {
	free chan struct{}
	n    int // requests that have or want a turn; the budget's mu guards it
}

// Turn waits until few enough of the tenant's requests are decoded. end ends the turn.
func (h *Share) Turn(ctx context.Context) (end func(), err error) {
	if h == nil {
		return func() {}, nil
	}
	t := h.b.join(h.tenant)
	select {
	case t.free <- struct{}{}:
		return func() { <-t.free; h.b.leave(h.tenant) }, nil
	case <-ctx.Done():
		h.b.leave(h.tenant)
		return nil, context.Cause(ctx)
	}
}

func (b *Budget) join(tenant string) *turns {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.turns[tenant]
	if t == nil {
		t = &turns{free: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
		b.turns[tenant] = t
	}
	t.n++
	return t
}

func (b *Budget) leave(tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.turns[tenant]
	if t.n--; t.n == 0 {
		delete(b.turns, tenant)
	}
}
