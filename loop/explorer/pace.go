package explorer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// pace is how long attempts at training tasks took.
type pace struct {
	mu   sync.Mutex
	n    int
	took time.Duration
}

func (p *pace) add(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	p.took += d
}

// limit is how long an attempt may take, and what says so.
func (x *Explorer) limit(most time.Duration, why string) (time.Duration, string) {
	x.pace.mu.Lock()
	defer x.pace.mu.Unlock()
	if x.DynamicTimeout <= 0 || x.pace.n < max(1, x.BatchSize) {
		return most, why
	}
	d := time.Duration(x.DynamicTimeout * float64(x.pace.took) / float64(x.pace.n))
	if d <= 0 || most > 0 && d >= most {
		return most, why
	}
	return d, "explorer.dynamic_timeout"
}

// errLeftOut ends the tasks that a step does not wait for.
var errLeftOut = errors.New("explorer: left out: enough tasks of the step are finished (explorer.over_rollout)")

// quorum ends ctx some time after enough tasks are finished.
type quorum struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	need   int
	wait   time.Duration
	n      atomic.Int64
	timer  atomic.Pointer[time.Timer]
}

func (x *Explorer) enough(ctx context.Context) *quorum {
	q := &quorum{need: x.MinTasks, wait: x.WaitAfterMin}
	q.ctx, q.cancel = context.WithCancelCause(ctx)
	return q
}

func (q *quorum) finished() {
	if n := q.n.Add(1); q.need > 0 && n == int64(q.need) {
		q.timer.Store(time.AfterFunc(q.wait, func() { q.cancel(errLeftOut) }))
	}
}

func (q *quorum) stop() {
	if t := q.timer.Load(); t != nil {
		t.Stop()
	}
	q.cancel(nil)
}

func (x *Explorer) note(event string, step int, detail string) error {
	if x.Note == nil {
		return nil
	}
	return x.Note(event, step, detail)
}

// parts runs a task's repetitions, in several parts if they are more than MaxRepeat. What failed of them is left out,
// unless it is all.
func (x *Explorer) parts(ctx context.Context, t workflow.Task, spent *took) ([]*experience.Experience, error) {
	if x.MaxRepeat <= 0 || t.Repeat <= x.MaxRepeat {
		return x.attempt(ctx, &x.train, t, spent)
	}
	n := (t.Repeat + x.MaxRepeat - 1) / x.MaxRepeat
	lists, errs := make([][]*experience.Experience, n), make([]error, n)
	var g errgroup.Group
	for i := range n {
		part := t
		base := i * x.MaxRepeat
		part.Repeat = min(x.MaxRepeat, t.Repeat-base)
		if i > 0 { // the draws of another request
			s := rng.New(t.Seed).Stream("part", i)
			part.Seed = s.Uint64()
		}
		g.Go(func() error {
			select {
			case x.slots <- struct{}{}:
				defer func() { <-x.slots }()
			case <-ctx.Done():
				errs[i] = context.Cause(ctx)
				return nil
			}
			lists[i], errs[i] = x.attempt(ctx, &x.train, part, spent)
			for _, e := range lists[i] {
				e.EID.Run += base
			}
			return nil
		})
	}
	g.Wait() // never fails
	var list []*experience.Experience
	for _, l := range lists {
		list = append(list, l...)
	}
	err := errors.Join(errs...)
	if err != nil && len(list) > 0 && ctx.Err() == nil {
		x.Warn(fmt.Sprintf("task %d of %s: %d of %d repetitions are left out: %v", t.Index, x.train.Name,
			t.Repeat-len(list), t.Repeat, err))
		err = nil
	}
	return list, err
}
