// Package compute is the loop that computes the passes of all training runs: micro-batches, forward and backward.
package compute

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
)

// Loop executes the jobs of the training runs' queues. One goroutine runs while there is work. Each training
// run has one job at a time, so its order is kept whichever job is taken first. Small micro-batches of different
// adapters on one base model run in one pass and share its matrix products; sharing changes no bit.
type Loop struct {
	Options
	counters counters
	Runner   *model.Runner  // of the loop's goroutine
	tapes    [2]*model.Tape // likewise; the second recomputes
	since    time.Time      // likewise; start of the current computation
	owners   []string       // likewise; its tenants
	now      []*job         // likewise; the micro-batches of its pass
	took     time.Duration  // likewise; duration of the last jobs
	Wait     time.Duration  // the least time that jobs wait for others that may share their pass

	mu      sync.Mutex
	changed sync.Cond // jobs or coming
	jobs    []*job    // waiting
	coming  int       // training runs whose next job is likely to arrive soon
	running bool
	shares  fair.Shares
}

// Options configure a Loop.
type Options struct {
	Compute  nn.Compute
	Turn     *fair.Turn
	Group    *lifetime.Group
	Limits   Limits
	Division Division
}

// Member is a training run as the loop sees it.
type Member struct {
	ID      string
	Owner   string
	full    bool // it trains all weights, so that its passes are its own
	share   *fair.Share
	coming  bool // guarded by the loop: a job is likely to follow at once
	present bool // likewise: the share is active
}

// NewMember returns a run of an owner that the loop does not know yet. full says that it trains all weights.
func NewMember(id, owner string, full bool) *Member {
	return &Member{ID: id, Owner: owner, full: full, share: fair.NewShare(owner)}
}

// Aside is a member for a part that is computed beside others of the same request, at the same share.
func (m *Member) Aside() *Member {
	return &Member{ID: m.ID, Owner: m.Owner, full: m.full, share: m.share}
}

// job is a micro-batch, or other work that needs the turn.
type job struct {
	m          *Member
	version    *weights.Version
	ctx        context.Context // of the request, which nobody wants when it has ended; nil: it has no end of its own
	microBatch                 // if there are items
	alone      func()          // else
	err        error           // once done is closed
	done       chan struct{}
}

func New(o Options) *Loop {
	t := &Loop{Options: o, Runner: model.NewRunner(o.Compute), Wait: 20 * time.Millisecond}
	t.changed.L = &t.mu
	t.Runner.Between = t.between
	t.Runner.Waits = func() bool { return o.Turn.Clock.Waiting(fair.ForSamples) > 0 }
	return t
}

// between is called between two layers of a pass.
func (t *Loop) between() error {
	if t.Group.Closing() {
		return lifetime.Closed()
	}
	if t.unwanted() {
		return context.Canceled
	}
	t.part()
	if t.Turn.Yield(fair.ForTraining, t.owners...) {
		t.counters.preemptions.Add(1)
		t.since = time.Now()
	}
	return nil
}

// unwanted reports whether the requests of all jobs of the pass have ended.
func (t *Loop) unwanted() bool {
	for _, j := range t.now {
		if j.ctx == nil || j.ctx.Err() == nil {
			return false
		}
	}
	return len(t.now) > 0
}

// part records the end of an uninterrupted computation.
func (t *Loop) part() {
	now := time.Now()
	t.counters.part(now.Sub(t.since))
	t.Turn.Clock.Charge(fair.ForTraining, now.Sub(t.since), t.owners...)
	t.since = now
}

// Parallel runs parts on the engine's threads in small groups; jobs of the compute loop call it.
func (t *Loop) Parallel(parts int, f func(int)) { t.parallelBy(64, parts, f) }

// ParallelFew is parallel for long parts: one per thread at a time.
func (t *Loop) ParallelFew(parts int, f func(int)) { t.parallelBy(t.Compute.P.N(), parts, f) }

func (t *Loop) parallelBy(some, parts int, f func(int)) {
	for from := 0; from < parts; from += some {
		t.between() // a close of the engine does not interrupt this work, which is short
		t.Compute.P.Run(min(some, parts-from), func(i int, _ *kernel.Scratch) { f(from + i) })
	}
}

// Alone runs f for a training run, in its turn.
func (t *Loop) Alone(m *Member, f func()) error { return t.do(&job{m: m, alone: f}) }

// do executes a job and waits for it.
func (t *Loop) do(j *job) error {
	j.done = make(chan struct{})
	t.mu.Lock()
	t.settle(j.m)
	if !j.m.present {
		j.m.present = true
		t.shares.Enter(j.m.share)
		t.Turn.Clock.Enter(fair.ForTraining, j.m.Owner)
	}
	if !t.running {
		if t.running = t.Group.Start(t.loop); !t.running {
			t.mu.Unlock()
			return lifetime.Closed()
		}
	}
	t.jobs = append(t.jobs, j)
	t.changed.Signal()
	t.mu.Unlock()
	<-j.done
	return j.err
}

// Idle records that no job of a training run is about to arrive.
func (t *Loop) Idle(m *Member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(m)
	if m.present {
		m.present = false
		t.shares.Leave(m.share)
		t.Turn.Clock.Leave(fair.ForTraining, m.Owner)
	}
	t.changed.Signal()
}

// settle clears the record that a job of m is about to arrive; t.mu is held.
func (t *Loop) settle(m *Member) {
	if m.coming {
		m.coming = false
		t.coming--
	}
}

// loop runs until no work is left.
func (t *Loop) loop() {
	for t.more() {
		t.Turn.Take(fair.ForTraining)
		t.since = time.Now()
		begun := t.since
		jobs := t.choose()
		t.owners = t.owners[:0]
		for _, j := range jobs {
			t.owners = append(t.owners, j.m.Owner)
		}
		switch {
		case t.Group.Closing():
			for _, j := range jobs {
				j.err = lifetime.Closed()
			}
		case jobs[0].alone != nil:
			jobs[0].alone()
		default:
			t.now = jobs
			t.pass(jobs)
			t.now = nil
		}
		t.part()
		t.took = t.since.Sub(begun)
		t.Turn.Done(fair.ForTraining)
		t.finish(jobs)
	}
}

// more reports whether there is a job; if not, the loop ends. It first waits for training runs that have just
// finished a job and are between two requests, since their next jobs may share a pass with the present ones. The
// wait is limited by the duration of the last jobs, or t.wait: a request that takes long to read must not delay the
// others.
func (t *Loop) more() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits() {
		late := false
		timer := time.AfterFunc(max(t.Wait, t.took), func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			late = true
			t.changed.Signal()
		})
		defer timer.Stop()
		for t.waits() && !(late && len(t.jobs) > 0) {
			t.changed.Wait()
		}
	}
	t.running = len(t.jobs) > 0
	return t.running
}

// waits reports whether a pass may still get more jobs; t.mu is held.
func (t *Loop) waits() bool {
	return t.coming > 0 && (len(t.jobs) == 0 || t.tokens() < t.Limits.roomFor(t.jobs[0]))
}

// tokens is the number of tokens of the waiting jobs; t.mu is held.
func (t *Loop) tokens() (n int) {
	for _, j := range t.jobs {
		n += j.tokens
	}
	return n
}

// choose takes the job with the least share, and the jobs that can share its pass, in that order.
func (t *Loop) choose() []*job {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortStableFunc(t.jobs, func(a, b *job) int { return a.m.share.Compare(b.m.share) })
	chosen, rest, tokens, room := t.jobs[:1:1], []*job(nil), t.jobs[0].tokens, t.Limits.roomFor(t.jobs[0])
	for _, j := range t.jobs[1:] {
		if tokens+j.tokens <= room && j.sharesPass(chosen[0]) && !j.repeats(chosen) {
			chosen, tokens = append(chosen, j), tokens+j.tokens
		} else {
			rest = append(rest, j)
		}
	}
	t.jobs = rest
	for _, j := range chosen {
		j.m.share.Charge(j.cost())
	}
	return chosen
}

// finish resolves the jobs and records that the next job of each run is likely to arrive soon.
func (t *Loop) finish(jobs []*job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, j := range jobs {
		if !j.m.full {
			j.m.coming = true
			t.coming++
		}
		close(j.done)
	}
}

// sharesPass reports whether two micro-batches can be computed in one pass.
func (j *job) sharesPass(k *job) bool {
	return j.alone == nil && k.alone == nil && !j.m.full && !k.m.full && j.version.W == k.version.W &&
		j.backward() == k.backward() && j.loss.Entropic() == k.loss.Entropic()
}

// repeats reports whether the adapter of a micro-batch with a backward is that of another one: a pass has one gradient
// for each adapter. They are parts of one request.
func (j *job) repeats(chosen []*job) bool {
	return j.backward() && slices.ContainsFunc(chosen, func(k *job) bool {
		return k.version.Adapter == j.version.Adapter
	})
}

// cost is the share that a job is charged: about the tokens of a forward pass.
func (j *job) cost() int64 {
	if j.backward() {
		return 3 * int64(j.tokens)
	}
	return 1 + int64(j.tokens)
}

// tape returns the memory of a forward pass that a backward pass follows.
func (t *Loop) tape(recompute bool) *model.Tape {
	i := 0
	if recompute {
		i = 1
	}
	if t.tapes[i] == nil {
		t.tapes[i] = t.Runner.NewTape(recompute)
	}
	return t.tapes[i]
}
