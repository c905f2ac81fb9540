// Package numbered keeps the requests of one model by their numbers, so that a request that is sent again is answered
// and not executed again.
package numbered

import (
	"errors"
	"fmt"
	"iter"
	"maps"
)

// Requests is the accepted requests of one model by number (SeqID). The numbers begin at 1. An E, for instance a
// request's future, is kept until Forget. The caller's lock guards a Requests.
type Requests[E any] struct {
	model string
	next  int64
	kept  map[int64]E
}

// New returns the requests of a model that has accepted none.
func New[E any](model string) *Requests[E] {
	return &Requests[E]{model: model, next: 1, kept: map[int64]E{}}
}

// Next is the number above all accepted ones, which a request without a number gets.
func (r *Requests[E]) Next() int64 { return r.next }

// Number is the number of a request with seq; 0 means Next.
func (r *Requests[E]) Number(seq int64) int64 {
	if seq == 0 {
		return r.next
	}
	return seq
}

// Accept keeps a request.
func (r *Requests[E]) Accept(seq int64, e E) {
	r.kept[seq] = e
	r.Reserve(seq)
}

// Reserve uses up the numbers up to seq, so that Next is above it.
func (r *Requests[E]) Reserve(seq int64) { r.next = max(r.next, seq+1) }

// Get returns a request that is kept.
func (r *Requests[E]) Get(seq int64) (e E, ok bool) {
	e, ok = r.kept[seq]
	return e, ok
}

// All iterates over the requests that are kept, in no order. The loop may forget them.
func (r *Requests[E]) All() iter.Seq2[int64, E] { return maps.All(r.kept) }

// Forget drops a request; its number stays used.
func (r *Requests[E]) Forget(seq int64) { delete(r.kept, seq) }

// ForgetAll drops all requests.
func (r *Requests[E]) ForgetAll() { r.kept = map[int64]E{} }

// Repeated finds the request that was accepted before under a number. same reports whether it equals the new request.
// The error says that it is different or no longer kept; all requests up to done were accepted.
func (r *Requests[E]) Repeated(seq, done int64, same func(E) bool) (e E, found bool, err error) {
	e, found = r.kept[seq]
	switch {
	case !found && seq <= done:
		err = fmt.Errorf("the result of request %d of model %s is no longer kept; the next free seq_id is %d", seq,
			r.model, r.next)
	case found && !same(e):
		err = fmt.Errorf("%w; the next free one is %d", Reused(seq, "model "+r.model), r.next)
	}
	return e, found, err
}

// ErrReused is in each error that Reused makes.
var ErrReused = errors.New("was used for another request")

// Reused is the error of a number that was used for another request of the model or sampling session of.
func Reused(seq int64, of string) error {
	return fmt.Errorf("seq_id %d of %s %w", seq, of, ErrReused)
}
