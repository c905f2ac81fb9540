package executor

import (
	"context"
	"slices"
	"sync"
)

// Receipt is of one result. Its methods may be called concurrently.
type Receipt interface {
	// Doubted reports whether the result is not trusted any more.
	Doubted() bool
	// Used tells the executor that the result is part of an answer.
	Used()
}

// Receipts tell later whether results are still trusted: an executor may be found to be wrong after it gave a result.
// The zero value is ready to use.
type Receipts struct {
	mu   sync.Mutex
	list []Receipt
}

// receiptsKey is the key of a context's Receipts.
type receiptsKey struct{}

// WithReceipts returns a context whose calls note their results in r.
func WithReceipts(ctx context.Context, r *Receipts) context.Context {
	return context.WithValue(ctx, receiptsKey{}, r)
}

// Note adds a result to the receipts of a context, if it has some.
func Note(ctx context.Context, one Receipt) {
	r, ok := ctx.Value(receiptsKey{}).(*Receipts)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, one)
}

// Add notes what is noted in of, for a result that is used after all.
func (r *Receipts) Add(of *Receipts) {
	of.mu.Lock()
	list := slices.Clone(of.list)
	of.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, list...)
}

// Use reports whether all noted results are trusted. Then they are used, and their executors are told.
func (r *Receipts) Use() bool {
	r.mu.Lock()
	list := slices.Clone(r.list)
	r.mu.Unlock()
	if slices.ContainsFunc(list, Receipt.Doubted) {
		return false
	}
	for _, one := range list {
		one.Used()
	}
	return true
}
