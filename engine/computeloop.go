package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
)

// computeLoop executes the jobs of the training runs' queues. One goroutine runs while there is work. Each training
// run has one job at a time, so its order is kept whichever job is taken first. Small micro-batches of different
// adapters on one base model run in one pass and share its matrix products; sharing changes no bit.
type computeLoop struct {
	e      *Engine
	runner *model.Runner  // of the loop's goroutine
	tapes  [2]*model.Tape // likewise; the second recomputes
	since  time.Time      // likewise; start of the current computation
	owners []string       // likewise; its tenants
	now    []*job         // likewise; the micro-batches of its pass
	took   time.Duration  // likewise; duration of the last jobs
	wait   time.Duration  // the least time that jobs wait for others that may share their pass

	mu      sync.Mutex
	changed sync.Cond // jobs or coming
	jobs    []*job    // waiting
	coming  int       // training runs whose next job is likely to arrive soon
	running bool
	shares  fairShares
}

// job is a micro-batch, or other work that needs the turn.
type job struct {
	r          *trainingRun
	ctx        context.Context // of the request, which nobody wants when it has ended; nil: it has no end of its own
	microBatch                 // if there are items
	alone      func()          // else
	err        error           // once done is closed
	done       chan struct{}
}

func newComputeLoop(e *Engine) *computeLoop {
	t := &computeLoop{e: e, runner: model.NewRunner(e.compute), wait: 20 * time.Millisecond}
	t.changed.L = &t.mu
	t.runner.Between = t.between
	t.runner.Waits = func() bool { return e.turn.clock.wanted(forSamples) }
	return t
}

// between is called between two layers of a pass.
func (t *computeLoop) between() error {
	if t.e.ctx.Err() != nil {
		return errClosed()
	}
	if t.unwanted() {
		return context.Canceled
	}
	t.part()
	if t.e.turn.yield(forTraining, t.owners...) {
		t.e.figures.preemptions.Add(1)
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
	t.e.figures.part(now.Sub(t.since))
	t.e.turn.clock.charge(forTraining, now.Sub(t.since), t.owners...)
	t.since = now
}

// parallel runs parts on the engine's threads in small groups; jobs of the compute loop call it.
func (t *computeLoop) parallel(parts int, f func(int)) { t.parallelBy(64, parts, f) }

// parallelFew is parallel for long parts: one per thread at a time.
func (t *computeLoop) parallelFew(parts int, f func(int)) { t.parallelBy(t.e.compute.P.N(), parts, f) }

func (t *computeLoop) parallelBy(some, parts int, f func(int)) {
	for from := 0; from < parts; from += some {
		t.between() // a close of the engine does not interrupt this work, which is short
		t.e.compute.P.Run(min(some, parts-from), func(i int, _ *kernel.Scratch) { f(from + i) })
	}
}

// do executes a job and waits for it.
func (t *computeLoop) do(j *job) error {
	j.done = make(chan struct{})
	t.mu.Lock()
	t.settle(j.r)
	if !j.r.present {
		j.r.present = true
		t.shares.enter(j.r.share)
		t.e.turn.clock.enter(forTraining, j.r.owner)
	}
	if !t.running {
		if t.running = t.e.start(t.loop); !t.running {
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
func (t *computeLoop) idle(r *trainingRun) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(r)
	if r.present {
		r.present = false
		t.shares.leave(r.share)
		t.e.turn.clock.leave(forTraining, r.owner)
	}
	t.changed.Signal()
}

// settle clears the record that a job of r is about to arrive; t.mu is held.
func (t *computeLoop) settle(r *trainingRun) {
	if r.coming {
		r.coming = false
		t.coming--
	}
}

// loop runs until no work is left.
func (t *computeLoop) loop() {
	for t.more() {
		t.e.turn.take(forTraining)
		t.since = time.Now()
		begun := t.since
		jobs := t.choose()
		t.owners = t.owners[:0]
		for _, j := range jobs {
			t.owners = append(t.owners, j.r.owner)
		}
		switch {
		case t.e.ctx.Err() != nil:
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
		t.e.turn.done(forTraining)
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
	return t.coming > 0 && (len(t.jobs) == 0 || t.tokens() < t.room(t.jobs[0]))
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
	slices.SortStableFunc(t.jobs, func(a, b *job) int { return a.r.share.compare(b.r.share) })
	chosen, rest, tokens, room := t.jobs[:1:1], []*job(nil), t.jobs[0].tokens, t.room(t.jobs[0])
	for _, j := range t.jobs[1:] {
		if tokens+j.tokens <= room && j.sharesPass(chosen[0]) && !j.repeats(chosen) {
			chosen, tokens = append(chosen, j), tokens+j.tokens
		} else {
			rest = append(rest, j)
		}
	}
	t.jobs = rest
	for _, j := range chosen {
		j.r.share.charge(j.cost())
	}
	return chosen
}

// finish resolves the jobs and records that the next job of each run is likely to arrive soon.
func (t *computeLoop) finish(jobs []*job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, j := range jobs {
		if !j.r.full() {
			j.r.coming = true
			t.coming++
		}
		close(j.done)
	}
}

// sharesPass reports whether two micro-batches can be computed in one pass.
func (j *job) sharesPass(k *job) bool {
	return j.alone == nil && k.alone == nil && !j.r.full() && !k.r.full() && j.r.version.w == k.r.version.w &&
		j.backward() == k.backward() && j.loss.Entropic() == k.loss.Entropic()
}

// repeats reports whether the adapter of a micro-batch with a backward is that of another one: a pass has one gradient
// for each adapter. They are parts of one request.
func (j *job) repeats(chosen []*job) bool {
	return j.backward() && slices.ContainsFunc(chosen, func(k *job) bool {
		return k.r.version.adapter == j.r.version.adapter
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
