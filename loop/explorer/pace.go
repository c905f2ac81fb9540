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
	mu    sync.Mutex
	n     int
	took  time.Duration
	steps int // that no task was left out of
}

func (p *pace) complete() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps++
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
	if x.DynamicTimeout <= 0 || x.pace.steps < x.WarmupSteps || x.pace.n < 1 {
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

// quorum ends ctx some time after enough tasks of a step are finished and it is the oldest under way.
type quorum struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	need   int64
	wait   time.Duration
	n      atomic.Int64
	oldest atomic.Bool
	once   sync.Once // starts the timer
	timer  *time.Timer
}

func (x *Explorer) quorum() *quorum { return &quorum{need: int64(x.MinTasks), wait: x.WaitAfterMin} }

// begin makes ctx. It comes before the tasks.
func (q *quorum) begin(ctx context.Context) { q.ctx, q.cancel = context.WithCancelCause(ctx) }

// finished counts a finished task.
func (q *quorum) finished() {
	q.n.Add(1)
	q.look()
}

// awaited says that the step is the oldest under way.
func (q *quorum) awaited() {
	q.oldest.Store(true)
	q.look()
}

func (q *quorum) look() {
	if q.need > 0 && q.n.Load() >= q.need && q.oldest.Load() {
		q.once.Do(func() { q.timer = time.AfterFunc(q.wait, func() { q.cancel(errLeftOut) }) })
	}
}

func (q *quorum) stop() {
	q.once.Do(func() {}) // it starts no more
	if q.timer != nil {
		q.timer.Stop()
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
func (x *Explorer) parts(ctx context.Context, from weights, t workflow.Task, spent *took) (
	[]*experience.Experience, error) {
	if x.MaxRepeat <= 0 || t.Repeat <= x.MaxRepeat {
		return x.attempt(ctx, from, &x.train, t, spent)
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
			lists[i], errs[i] = x.attempt(ctx, from, &x.train, part, spent)
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
	if err != nil && len(list) > 0 && (ctx.Err() == nil || x.Partial) {
		x.Warn(fmt.Sprintf("task %d of %s: %d of %d repetitions are left out: %v", t.Index, x.train.Name,
			t.Repeat-len(list), t.Repeat, err))
		err = nil
	}
	return list, err
}
