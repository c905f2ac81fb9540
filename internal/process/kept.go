package process

import (
	"context"
	"sync"
)

// Kept is one T at a time, such as a program or a connection to one: opened when it is first needed, and again when it
// has ended. It is safe for concurrent use.
type Kept[T comparable] struct {
	Open  func(context.Context) (T, error) // one at a time; Close ends its context, with ErrClosed
	Alive func(T) bool
	Shut  func(T) // ends one that is no longer used; nil: it ends without that

	mu      sync.Mutex
	ctx     context.Context
	end     context.CancelCauseFunc
	current T // zero: none
	opening *opening[T]
	closed  bool
	wait    sync.WaitGroup // of openings
}

// opening is a call of Open. Several callers may wait for it, so it does not end with the context of one.
type opening[T any] struct {
	done chan struct{}
	got  T
	err  error
}

// Get returns the T that is alive, or opens another one.
func (k *Kept[T]) Get(ctx context.Context) (got T, err error) {
	var none T
	k.mu.Lock()
	switch {
	case k.closed:
		k.mu.Unlock()
		return none, ErrClosed
	case k.opening == nil && k.current != none && k.Alive(k.current):
		defer k.mu.Unlock()
		return k.current, nil
	case k.opening == nil:
		if k.ctx == nil {
			k.ctx, k.end = context.WithCancelCause(context.Background())
		}
		k.opening = &opening[T]{done: make(chan struct{})}
		next, old, life := k.opening, k.current, k.ctx
		k.current = none
		k.wait.Go(func() { k.open(life, next, old) })
	}
	next := k.opening
	k.mu.Unlock()
	select {
	case <-next.done:
		return next.got, next.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// open replaces old.
func (k *Kept[T]) open(ctx context.Context, next *opening[T], old T) {
	k.shut(old)
	next.got, next.err = k.Open(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.opening = nil; next.err == nil {
		k.current = next.got
	}
	close(next.done)
}

func (k *Kept[T]) shut(old T) {
	var none T
	if old != none && k.Shut != nil {
		k.Shut(old)
	}
}

// Current is the T that was opened last, alive or not. The zero T says that there is none.
func (k *Kept[T]) Current() T {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current
}

// Drop ends a T that does not work any more, unless another call did. The next Get opens another one.
func (k *Kept[T]) Drop(old T) {
	var none T
	k.mu.Lock()
	mine := k.current == old
	if mine {
		k.current = none
	}
	k.mu.Unlock()
	if mine {
		k.shut(old)
	}
}

// Close ends the current T, or one that is being opened. Get fails with ErrClosed from then on.
func (k *Kept[T]) Close() {
	k.mu.Lock()
	k.closed = true
	if k.end != nil {
		k.end(ErrClosed)
	}
	k.mu.Unlock()
	k.wait.Wait()
	k.Drop(k.Current())
}
