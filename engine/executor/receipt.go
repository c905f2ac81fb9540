package executor

import (
	"context"
	"slices"
	"sync"
)

// Receipts tell later whether results are still trusted: an executor may be found to be wrong after it gave a result.
// The zero value is ready to use.
type Receipts struct {
	mu   sync.Mutex
	list []func() bool
}

// receiptsKey is the key of a context's Receipts.
type receiptsKey struct{}

// WithReceipts returns a context whose calls note their results in r.
func WithReceipts(ctx context.Context, r *Receipts) context.Context {
	return context.WithValue(ctx, receiptsKey{}, r)
}

// Note adds a result to the receipts of a context, if it has some. doubted reports whether it is not trusted any more.
func Note(ctx context.Context, doubted func() bool) {
	r, ok := ctx.Value(receiptsKey{}).(*Receipts)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, doubted)
}

// Doubted reports whether a noted result is not trusted any more.
func (r *Receipts) Doubted() bool {
	r.mu.Lock()
	list := slices.Clone(r.list)
	r.mu.Unlock()
	return slices.ContainsFunc(list, func(doubted func() bool) bool { return doubted() })
}
