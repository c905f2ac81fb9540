package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// computeLoop executes the jobs of the training runs' queues. One goroutine runs while there is work. Each training
// run has one job at a time, so its order is kept whichever job is taken first. Small micro-batches of different
// adapters on one base model run in one pass and share its matrix products; sharing changes no bit.
type computeLoop struct {
	loopOptions
	counters loopCounters
	runner   *model.Runner  // of the loop's goroutine
	tapes    [2]*model.Tape // likewise; the second recomputes
	since    time.Time      // likewise; start of the current computation
	owners   []string       // likewise; its tenants
	now      []*job         // likewise; the micro-batches of its pass
	took     time.Duration  // likewise; duration of the last jobs
	wait     time.Duration  // the least time that jobs wait for others that may share their pass

	mu      sync.Mutex
	changed sync.Cond // jobs or coming
	jobs    []*job    // waiting
	coming  int       // training runs whose next job is likely to arrive soon
	running bool
	shares  fairShares
}

// loopOptions configure a computeLoop.
type loopOptions struct {
	compute nn.Compute
	turn    *turn
	group   *group
	limits  limits
}

// member is a training run as the loop sees it.
type member struct {
	id      string
	owner   string
	full    bool // it trains all weights, so that its passes are its own
	share   *fairShare
	coming  bool // guarded by the loop: a job is likely to follow at once
	present bool // likewise: the share is active
}

// newMember returns a run of an owner that the loop does not know yet. full says that it trains all weights.
func newMember(id, owner string, full bool) *member {
	return &member{id: id, owner: owner, full: full, share: newShare(owner)}
}

// aside is a member for a part that is computed beside others of the same request, at the same share.
func (m *member) aside() *member {
	return &member{id: m.id, owner: m.owner, full: m.full, share: m.share}
}

// job is a micro-batch, or other work that needs the turn.
type job struct {
	m          *member
	version    *version
	ctx        context.Context // of the request, which nobody wants when it has ended; nil: it has no end of its own
	microBatch                 // if there are items
	alone      func()          // else
	err        error           // once done is closed
	done       chan struct{}
}

func newComputeLoop(o loopOptions) *computeLoop {
	t := &computeLoop{loopOptions: o, runner: model.NewRunner(o.compute), wait: 20 * time.Millisecond}
	t.changed.L = &t.mu
	t.runner.Between = t.between
	t.runner.Waits = func() bool { return o.turn.clock.waiting(forSamples) > 0 }
	return t
}

// between is called between two layers of a pass.
func (t *computeLoop) between() error {
	if t.group.closing() {
		return errClosed()
	}
	if t.unwanted() {
		return context.Canceled
	}
	t.part()
	if t.turn.yield(forTraining, t.owners...) {
		t.counters.preemptions.Add(1)
		t.since = time.Now()
	}
	return nil
}

// unwanted reports whether the requests of all jobs of the pass have ended.
func (t *computeLoop) unwanted() bool {
	for _, j := range t.now {
		if j.ctx == nil || j.ctx.Err() == nil {
			return false
		}
	}
	return len(t.now) > 0
}

// part records the end of an uninterrupted computation.
func (t *computeLoop) part() {
	now := time.Now()
	t.counters.part(now.Sub(t.since))
	t.turn.clock.charge(forTraining, now.Sub(t.since), t.owners...)
	t.since = now
}

// parallel runs parts on the engine's threads in small groups; jobs of the compute loop call it.
func (t *computeLoop) parallel(parts int, f func(int)) { t.parallelBy(64, parts, f) }

// parallelFew is parallel for long parts: one per thread at a time.
func (t *computeLoop) parallelFew(parts int, f func(int)) { t.parallelBy(t.compute.P.N(), parts, f) }

func (t *computeLoop) parallelBy(some, parts int, f func(int)) {
	for from := 0; from < parts; from += some {
		t.between() // a close of the engine does not interrupt this work, which is short
		t.compute.P.Run(min(some, parts-from), func(i int, _ *kernel.Scratch) { f(from + i) })
	}
}

// alone runs f for a training run, in its turn.
func (t *computeLoop) alone(m *member, f func()) error { return t.do(&job{m: m, alone: f}) }

// do executes a job and waits for it.
func (t *computeLoop) do(j *job) error {
	j.done = make(chan struct{})
	t.mu.Lock()
	t.settle(j.m)
	if !j.m.present {
		j.m.present = true
		t.shares.enter(j.m.share)
		t.turn.clock.enter(forTraining, j.m.owner)
	}
	if !t.running {
		if t.running = t.group.start(t.loop); !t.running {
			t.mu.Unlock()
			return errClosed()
		}
	}
	t.jobs = append(t.jobs, j)
	t.changed.Signal()
	t.mu.Unlock()
	<-j.done
	return j.err
}

// idle records that no job of a training run is about to arrive.
func (t *computeLoop) idle(m *member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(m)
	if m.present {
		m.present = false
		t.shares.leave(m.share)
		t.turn.clock.leave(forTraining, m.owner)
	}
	t.changed.Signal()
}

// settle clears the record that a job of m is about to arrive; t.mu is held.
func (t *computeLoop) settle(m *member) {
	if m.coming {
		m.coming = false
		t.coming--
	}
}

// loop runs until no work is left.
func (t *computeLoop) loop() {
	for t.more() {
		t.turn.take(forTraining)
		t.since = time.Now()
		begun := t.since
		jobs := t.choose()
		t.owners = t.owners[:0]
		for _, j := range jobs {
			t.owners = append(t.owners, j.m.owner)
		}
		switch {
		case t.group.closing():
			for _, j := range jobs {
				j.err = errClosed()
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
		t.turn.done(forTraining)
		t.finish(jobs)
	}
}

// more reports whether there is a job; if not, the loop ends. It first waits for training runs that have just
// finished a job and are between two requests, since their next jobs may share a pass with the present ones. The
// wait is limited by the duration of the last jobs, or t.wait: a request that takes long to read must not delay the
// others.
func (t *computeLoop) more() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits() {
		late := false
		timer := time.AfterFunc(max(t.wait, t.took), func() {
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
func (t *computeLoop) waits() bool {
	return t.coming > 0 && (len(t.jobs) == 0 || t.tokens() < t.limits.roomFor(t.jobs[0]))
}

// tokens is the number of tokens of the waiting jobs; t.mu is held.
func (t *computeLoop) tokens() (n int) {
	for _, j := range t.jobs {
		n += j.tokens
	}
	return n
}

// choose takes the job with the least share, and the jobs that can share its pass, in that order.
func (t *computeLoop) choose() []*job {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortStableFunc(t.jobs, func(a, b *job) int { return a.m.share.compare(b.m.share) })
	chosen, rest, tokens, room := t.jobs[:1:1], []*job(nil), t.jobs[0].tokens, t.limits.roomFor(t.jobs[0])
	for _, j := range t.jobs[1:] {
		if tokens+j.tokens <= room && j.sharesPass(chosen[0]) && !j.repeats(chosen) {
			chosen, tokens = append(chosen, j), tokens+j.tokens
		} else {
			rest = append(rest, j)
		}
	}
	t.jobs = rest
	for _, j := range chosen {
		j.m.share.charge(j.cost())
	}
	return chosen
}

// finish resolves the jobs and records that the next job of each run is likely to arrive soon.
func (t *computeLoop) finish(jobs []*job) {
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
	return j.alone == nil && k.alone == nil && !j.m.full && !k.m.full && j.version.w == k.version.w &&
		j.backward() == k.backward() &&
		j.items[0].K == k.items[0].K && j.loss.Entropic() == k.loss.Entropic()
}

// repeats reports whether the adapter of a micro-batch with a backward is that of another one: a pass has one gradient
// for each adapter. They are parts of one request.
func (j *job) repeats(chosen []*job) bool {
	return j.backward() && slices.ContainsFunc(chosen, func(k *job) bool {
		return k.version.adapter == j.version.adapter
	})
}

// cost is what a job adds to its share: about the tokens of a forward pass.
func (j *job) cost() int64 {
	if j.backward() {
		return 3 * int64(j.tokens)
	}
	return 1 + int64(j.tokens)
}

// tape returns the memory of a forward pass that a backward pass follows.
func (t *computeLoop) tape(recompute bool) *model.Tape {
	i := 0
	if recompute {
		i = 1
	}
	if t.tapes[i] == nil {
		t.tapes[i] = t.runner.NewTape(recompute)
	}
	return t.tapes[i]
}
