// Package queue executes the requests of a model in the order of their numbers and answers repeated ones.
package queue

import (
	"context"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/internal/numbered"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// maxAhead is how far a SeqID may run ahead of the first one missing.
const maxAhead = 1 << 16

// Queue executes a model's requests in SeqID order, in whatever order they arrive, and answers repeated ones. It has a
// goroutine only while the next request is there.
type Queue struct {
	Options

	mu       sync.Mutex
	requests *numbered.Requests[*request] // waiting, running and kept
	done     int64                        // SeqID of the last request that has run
	oldest   int64                        // no result below is kept
	bytes    int64                        // of kept results
	controls []func(error)                // to run between requests
	busy     bool                         // a goroutine works
	running  bool                         // request done+1
	closed   bool
	leaving  []func(error) // called when the model is unloaded; no more requests are accepted
	retired  bool          // the model is unloaded
}

// Options configure a queue.
type Options struct {
	ID        string              // of the model, for errors
	Start     func(f func()) bool // runs f on a goroutine
	Idle      func()              // called when no request follows at once
	Backlog   *fair.Backlog       // of pending requests
	Owner     string              // the backlog's tenant
	Keep      int                 // results kept
	KeepBytes int64
}

// New returns the queue of a model that has executed the requests up to done.
func New(o Options, done int64) *Queue {
	q := &Queue{Options: o, requests: numbered.New[*request](o.ID), done: done, oldest: done + 1}
	q.requests.Reserve(done)
	return q
}

// request is one accepted request: waiting, running or kept.
type request struct {
	digest Digest
	future any          // *tinker.Future of its method's result
	run    func() int64 // runs it, resolves future, and returns the result's size
	fail   func(error)  // resolves future without running it
	size   int64
}

// Submit accepts a request with that many tokens. size estimates the bytes of its result.
func Submit[T any](ctx context.Context, q *Queue, seq int64, d Digest, tokens int, exec func() (T, error),
	size func(T) int64) (*tinker.Future[T], error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, lifetime.Closed()
	}
	if q.ends() {
		return nil, Unloaded(q.ID)
	}
	seq = q.requests.Number(seq)
	if seq < 1 || seq > q.done+maxAhead {
		return nil, tinker.Userf("engine: seq_id %d of model %s is out of range; the next one to run is %d, and at "+
			"most %d may wait", seq, q.ID, q.done+1, maxAhead)
	}
	if f, found, err := repeated[T](q, seq, d); found || err != nil {
		return f, err
	}
	// A request that accepted ones wait for always fits.
	if err := q.Backlog.Take(q.Owner, tokens, tinker.IsPromised(ctx) || seq < q.requests.Next()); err != nil {
		return nil, err
	}
	f, resolve := tinker.NewFuture[T]()
	q.requests.Accept(seq, &request{digest: d, future: f,
		run: func() int64 {
			v, err := exec()
			if err != nil {
				v, err = *new(T), tinker.Brief(err) // it is kept
			}
			q.Backlog.Release(q.Owner, tokens)
			resolve(v, err)
			return size(v)
		},
		fail: func(err error) {
			q.Backlog.Release(q.Owner, tokens)
			resolve(*new(T), err)
		}})
	q.kick()
	return f, nil
}

// repeated finds the future of a request that was accepted before; q.mu is held.
func repeated[T any](q *Queue, seq int64, d Digest) (*tinker.Future[T], bool, error) {
	var f *tinker.Future[T]
	_, found, err := q.requests.Repeated(seq, q.done, func(e *request) (ok bool) {
		f, ok = e.future.(*tinker.Future[T])
		return ok && e.digest == d
	})
	if err != nil {
		return nil, false, tinker.Userf("engine: %w", err)
	}
	return f, found, nil
}

// Next is the SeqID after the last one that was accepted, unless the queue has ended.
func (q *Queue) Next() (int64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, lifetime.Closed()
	}
	if q.ends() {
		return 0, Unloaded(q.ID)
	}
	return q.requests.Next(), nil
}

// Current is the SeqID of the running request.
func (q *Queue) Current() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.done + 1
}

// Between runs f between two requests. f gets an error if the queue has ended.
func (q *Queue) Between(f func(error)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		f(lifetime.Closed())
		return
	}
	if q.retired {
		f(Unloaded(q.ID))
		return
	}
	q.controls = append(q.controls, f)
	q.kick()
}

// ends reports whether the model is unloaded or is about to be; q.mu is held.
func (q *Queue) ends() bool { return q.retired || len(q.leaving) > 0 }

// present is a request that waits, runs or is kept; nil if there is none. q.mu is held.
func (q *Queue) present(seq int64) *request {
	e, _ := q.requests.Get(seq)
	return e
}

// kick starts the goroutine if there is work; q.mu is held.
func (q *Queue) kick() {
	if !q.busy && (len(q.controls) > 0 || q.present(q.done+1) != nil || len(q.leaving) > 0) {
		q.busy = q.Start(q.work)
	}
}

// work executes the requests that can run and returns.
func (q *Queue) work() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed {
		if len(q.controls) > 0 {
			f := q.controls[0]
			q.controls = q.controls[1:]
			q.mu.Unlock()
			q.Idle()
			f(nil)
			q.mu.Lock()
			continue
		}
		e := q.present(q.done + 1)
		if e == nil {
			if len(q.leaving) > 0 {
				q.depart()
			}
			break
		}
		q.running = true
		q.mu.Unlock()
		e.size = e.run()
		q.mu.Lock()
		q.running = false
		q.done++
		q.bytes += e.size
		e.run, e.fail = nil, nil // and the request they hold
		q.forget()
	}
	q.busy = false
	q.Idle()
}

// forget drops the oldest results beyond the limits, never the newest one; q.mu is held.
func (q *Queue) forget() {
	for q.oldest < q.done && (q.done-q.oldest >= int64(q.Keep) || q.bytes > q.KeepBytes) {
		if e := q.present(q.oldest); e != nil {
			q.bytes -= e.size
			q.requests.Forget(q.oldest)
		}
		q.oldest++
	}
}

// Close fails the requests that have not begun.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for seq, e := range q.requests.All() {
		if seq > q.done && !(q.running && seq == q.done+1) {
			e.fail(lifetime.Closed())
		}
	}
	for _, f := range q.controls {
		f(lifetime.Closed())
	}
	for _, f := range q.leaving {
		f(lifetime.Closed())
	}
	q.controls, q.leaving = nil, nil
}

// Unloaded is the error of every request to an unloaded model.
func Unloaded(modelID string) error {
	return tinker.Userf("engine: model %s: %w; create another from one of its checkpoints", modelID, tinker.ErrUnloaded)
}

// Retire accepts no more requests. When every request that can run has run, those that wait for a missing one fail,
// and f is called. f gets an error if the engine closes before that.
func (q *Queue) Retire(f func(error)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		f(lifetime.Closed())
	case q.retired:
		f(nil)
	default:
		q.leaving = append(q.leaving, f)
		q.kick()
	}
}

// depart ends a queue in which nothing can run any more; q.mu is held.
func (q *Queue) depart() {
	q.retired = true
	for seq, e := range q.requests.All() {
		if seq > q.done {
			e.fail(Unloaded(q.ID))
		}
	}
	q.requests.ForgetAll()
	q.bytes = 0
	for _, f := range q.leaving {
		f(nil)
	}
	q.leaving = nil
}
