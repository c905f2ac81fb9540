// Package buffer carries experiences from the explorer to the trainer: a Queue hands finished experiences over inside
// one process, a SQL table hands them over between processes, a Store keeps them on disk until they have been trained
// so that a killed run does not sample them again, and a JSONL file keeps a readable copy.
package buffer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// ErrClosed means that the queue is closed: for Put at once, for Read when fewer experiences are left than were asked
// for.
var ErrClosed = errors.New("buffer: closed")

// ErrTimeout means that a Read waited its whole time without getting enough.
var ErrTimeout = errors.New("buffer: read timed out")

// Queue is a bounded first-in first-out buffer of lists of experiences. It is safe for any number of writers and one
// reader at a time; nothing in it polls.
type Queue struct {
	// Starved, if set before use, is told when a reader begins to wait for more than there is, and when it waits no
	// longer. It is called under the queue's lock and must not call the queue.
	Starved func(bool)

	capacity int
	timeout  time.Duration

	mu      sync.Mutex
	items   [][]*experience.Experience // each as it was put, all not empty
	pool    []*experience.Experience   // taken from items but not read yet
	closed  bool
	want    int           // what the reader that waits has asked for; 0: none waits
	starved bool          // last told
	changed chan struct{} // closed and replaced at every change of the above
}

// NewQueue makes a queue that holds capacity lists (at least one) and whose Read waits at most timeout; 0 waits for
// ever.
func NewQueue(capacity int, timeout time.Duration) *Queue {
	return &Queue{capacity: max(1, capacity), timeout: timeout, changed: make(chan struct{})}
}

// Put appends one list, normally all experiences of an explore step, and waits while the queue is full. An empty list
// is ignored. The list belongs to the queue afterwards. The error is ErrClosed or ctx's.
func (q *Queue) Put(ctx context.Context, list []*experience.Experience) error {
	if len(list) == 0 {
		return nil
	}
	for {
		done, changed, err := q.tryPut(list)
		if done || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (q *Queue) tryPut(list []*experience.Experience) (done bool, changed <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return false, nil, ErrClosed
	case len(q.items) >= q.capacity:
		return false, q.changed, nil
	}
	q.items = append(q.items, list)
	q.tell()
	q.wake()
	return true, nil, nil
}

// Read waits for exactly n experiences and returns them in the order they were put; a list may be split between two
// reads. Lists whose first experience was sampled by a version below minVersion are skipped when minVersion > 0.
//
// The error is ErrTimeout (what is there stays for the next read), ErrClosed once the queue is closed and fewer than n
// are left (those are never handed out), or ctx's.
func (q *Queue) Read(ctx context.Context, n, minVersion int) ([]*experience.Experience, error) {
	var expired <-chan time.Time
	if q.timeout > 0 {
		timer := time.NewTimer(q.timeout)
		defer timer.Stop()
		expired = timer.C
	}
	defer q.satisfied()
	for {
		list, changed, err := q.tryRead(n, minVersion)
		if list != nil || err != nil {
			return list, err
		}
		select {
		case <-changed:
		case <-expired:
			return nil, fmt.Errorf("%w after %v with %d of %d experiences; raise max_read_timeout or look why the "+
				"explorer is late", ErrTimeout, q.timeout, q.pooled(), n)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (q *Queue) tryRead(n, minVersion int) (list []*experience.Experience, changed <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.pool) < n && len(q.items) > 0 {
		item := q.items[0]
		q.items = q.items[1:]
		if minVersion <= 0 || item[0].Info.ModelVersion >= minVersion {
			q.pool = append(q.pool, item...)
		}
		q.wake()
	}
	switch {
	case len(q.pool) >= n:
		list = append(make([]*experience.Experience, 0, n), q.pool[:n]...)
		q.pool = append([]*experience.Experience(nil), q.pool[n:]...)
		q.want = 0
		q.tell()
		return list, nil, nil
	case q.closed:
		return nil, nil, ErrClosed
	}
	q.want = n
	q.tell()
	return nil, q.changed, nil
}

// satisfied says that no reader waits.
func (q *Queue) satisfied() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.want = 0
	q.tell()
}

// tell reports whether a reader waits for more than there is, if that has changed. The caller holds mu.
func (q *Queue) tell() {
	n := len(q.pool)
	for _, item := range q.items {
		n += len(item)
	}
	if starved := n < q.want; q.Starved != nil && starved != q.starved {
		q.starved = starved
		q.Starved(starved)
	}
}

// wake lets everybody who waits look again. The caller holds mu.
func (q *Queue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *Queue) pooled() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.pool)
}

// Len is the number of experiences put and not read yet.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.pool)
	for _, item := range q.items {
		n += len(item)
	}
	return n
}

// Close ends the queue: writers fail from now on, readers get what is left. Closing twice does nothing.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		q.wake()
	}
}
