package engine

import (
	"context"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/numbered"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// maxAhead is how far a SeqID may run ahead of the first one missing.
const maxAhead = 1 << 16

// queue executes a model's requests in SeqID order, in whatever order they arrive, and answers repeated ones. It has a
// goroutine only while the next request is there.
type queue struct {
	queueOptions

	mu       sync.Mutex
	requests *numbered.Requests[*queuedRequest] // waiting, running and kept
	done     int64                              // SeqID of the last request that has run
	oldest   int64                              // no result below is kept
	bytes    int64                              // of kept results
	controls []func(error)                      // to run between requests
	busy     bool                               // a goroutine works
	running  bool                               // request done+1
	closed   bool
	leaving  []func(error) // called when the model is unloaded; no more requests are accepted
	retired  bool          // the model is unloaded
}

// queueOptions configure a queue.
type queueOptions struct {
	id        string              // of the model, for errors
	start     func(f func()) bool // runs f on a goroutine
	idle      func()              // called when no request follows at once
	backlog   *backlog            // of pending requests
	owner     string              // the backlog's tenant
	keep      int                 // results kept
	keepBytes int64
}

// newQueue returns the queue of a model that has executed the requests up to done.
func newQueue(o queueOptions, done int64) *queue {
	q := &queue{queueOptions: o, requests: numbered.New[*queuedRequest](o.id), done: done, oldest: done + 1}
	q.requests.Reserve(done)
	return q
}

// queuedRequest is one accepted request: waiting, running or kept.
type queuedRequest struct {
	digest digest
	future any          // *tinker.Future of its method's result
	run    func() int64 // runs it, resolves future, and returns the result's size
	fail   func(error)  // resolves future without running it
	size   int64
}

// submit accepts a request with that many tokens. size estimates the bytes of its result.
func submit[T any](ctx context.Context, q *queue, seq int64, d digest, tokens int, exec func() (T, error),
	size func(T) int64) (*tinker.Future[T], error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, errClosed()
	}
	if q.ends() {
		return nil, errUnloaded(q.id)
	}
	seq = q.requests.Number(seq)
	if seq < 1 || seq > q.done+maxAhead {
		return nil, tinker.Userf("engine: seq_id %d of model %s is out of range; the next one to run is %d, and at "+
			"most %d may wait", seq, q.id, q.done+1, maxAhead)
	}
	if f, found, err := repeated[T](q, seq, d); found || err != nil {
		return f, err
	}
	// A request that accepted ones wait for always fits.
	if err := q.backlog.take(q.owner, tokens, tinker.IsPromised(ctx) || seq < q.requests.Next()); err != nil {
		return nil, err
	}
	f, resolve := tinker.NewFuture[T]()
	q.requests.Accept(seq, &queuedRequest{digest: d, future: f,
		run: func() int64 {
			v, err := exec()
			if err != nil {
				v, err = *new(T), tinker.Brief(err) // it is kept
			}
			q.backlog.release(q.owner, tokens)
			resolve(v, err)
			return size(v)
		},
		fail: func(err error) {
			q.backlog.release(q.owner, tokens)
			resolve(*new(T), err)
		}})
	q.kick()
	return f, nil
}

// repeated finds the future of a request that was accepted before; q.mu is held.
func repeated[T any](q *queue, seq int64, d digest) (*tinker.Future[T], bool, error) {
	var f *tinker.Future[T]
	_, found, err := q.requests.Repeated(seq, q.done, func(e *queuedRequest) (ok bool) {
		f, ok = e.future.(*tinker.Future[T])
		return ok && e.digest == d
	})
	if err != nil {
		return nil, false, tinker.Userf("engine: %w", err)
	}
	return f, found, nil
}

// next is the SeqID after the last one that was accepted, unless the queue has ended.
func (q *queue) next() (int64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, errClosed()
	}
	if q.ends() {
		return 0, errUnloaded(q.id)
	}
	return q.requests.Next(), nil
}

// current is the SeqID of the running request.
func (q *queue) current() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.done + 1
}

// between runs f between two requests. f gets an error if the queue has ended.
func (q *queue) between(f func(error)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		f(errClosed())
		return
	}
	if q.retired {
		f(errUnloaded(q.id))
		return
	}
	q.controls = append(q.controls, f)
	q.kick()
}

// ends reports whether the model is unloaded or is about to be; q.mu is held.
func (q *queue) ends() bool { return q.retired || len(q.leaving) > 0 }

// present is a request that waits, runs or is kept; nil if there is none. q.mu is held.
func (q *queue) present(seq int64) *queuedRequest {
	e, _ := q.requests.Get(seq)
	return e
}

// kick starts the goroutine if there is work; q.mu is held.
func (q *queue) kick() {
	if !q.busy && (len(q.controls) > 0 || q.present(q.done+1) != nil || len(q.leaving) > 0) {
		q.busy = q.start(q.work)
	}
}

// work executes the requests that can run and returns.
func (q *queue) work() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed {
		if len(q.controls) > 0 {
			f := q.controls[0]
			q.controls = q.controls[1:]
			q.mu.Unlock()
			q.idle()
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
	q.idle()
}

// forget drops the oldest results beyond the limits, never the newest one; q.mu is held.
func (q *queue) forget() {
	for q.oldest < q.done && (q.done-q.oldest >= int64(q.keep) || q.bytes > q.keepBytes) {
		if e := q.present(q.oldest); e != nil {
			q.bytes -= e.size
			q.requests.Forget(q.oldest)
		}
		q.oldest++
	}
}

// close fails the requests that have not begun.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for seq, e := range q.requests.All() {
		if seq > q.done && !(q.running && seq == q.done+1) {
			e.fail(errClosed())
		}
	}
	for _, f := range q.controls {
		f(errClosed())
	}
	for _, f := range q.leaving {
		f(errClosed())
	}
	q.controls, q.leaving = nil, nil
}

// errUnloaded is the error of every request to an unloaded model.
func errUnloaded(modelID string) error {
	return tinker.Userf("engine: model %s: %w; create another from one of its checkpoints", modelID, tinker.ErrUnloaded)
}

// retire accepts no more requests. When every request that can run has run, those that wait for a missing one fail,
// and f is called. f gets an error if the engine closes before that.
func (q *queue) retire(f func(error)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		f(errClosed())
	case q.retired:
		f(nil)
	default:
		q.leaving = append(q.leaving, f)
		q.kick()
	}
}

// depart ends a queue in which nothing can run any more; q.mu is held.
func (q *queue) depart() {
	q.retired = true
	for seq, e := range q.requests.All() {
		if seq > q.done {
			e.fail(errUnloaded(q.id))
		}
	}
	q.requests.ForgetAll()
	q.bytes = 0
	for _, f := range q.leaving {
		f(nil)
	}
	q.leaving = nil
}
