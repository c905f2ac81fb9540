package tinker

import "context"

// Future is a result that comes later. It is resolved once; any number of readers may wait.
type Future[T any] struct {
	done chan struct{}
	val  T
	err  error
}

// NewFuture returns a future and the function that resolves it, to be called exactly once.
func NewFuture[T any]() (*Future[T], func(T, error)) {
	f := &Future[T]{done: make(chan struct{})}
	return f, func(v T, err error) {
		f.val, f.err = v, err
		close(f.done)
	}
}

// Resolved returns a future that has its result already.
func Resolved[T any](v T, err error) *Future[T] {
	f, resolve := NewFuture[T]()
	resolve(v, err)
	return f
}

// Done is closed when the future has its result.
func (f *Future[T]) Done() <-chan struct{} { return f.done }

// Wait returns the result, or ctx's error when ctx ends first; the work continues anyway.
func (f *Future[T]) Wait(ctx context.Context) (T, error) {
	select {
	case <-f.done:
		return f.val, f.err
	default:
	}
	select {
	case <-f.done:
		return f.val, f.err
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}

// Then maps a future's value when it comes.
func Then[T, U any](f *Future[T], m func(T) (U, error)) *Future[U] {
	g, resolve := NewFuture[U]()
	go func() {
		<-f.done
		if f.err != nil {
			var zero U
			resolve(zero, f.err)
			return
		}
		resolve(m(f.val))
	}()
	return g
}
