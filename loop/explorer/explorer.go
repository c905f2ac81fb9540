// Package explorer is the loop that turns tasks into experiences: for each explore step it waits for the weights that
// the step samples with, runs the step's tasks at once, scores the groups, and hands the experiences on in task order.
// Several steps may be under way (flight); they are handed on in order.
//
// Each finished group is stored before it counts. After a restart the loop runs only the tasks that have no stored
// group, so nothing is sampled twice; and because every draw derives from the run's seed and the names of step, task
// and repetition, it samples the same as an unbroken run.
package explorer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Options set an Explorer up.
type Options struct {
	Seed      uint64
	First     int // the explore step to begin with
	Steps     int // the last one; 0: until the tasks end
	BatchSize int // tasks per step
	Runners   int // tasks at a time
	// tasks of an evaluation at a time; 0: as many as Runners
	EvalRunners int
	Retries     int // attempts beyond the first at a failed task
	Timeout     time.Duration
	// DynamicTimeout, if above 0, ends an attempt after this many times the mean time of the attempts so far, once
	// WarmupSteps are complete; Timeout stays the most.
	DynamicTimeout float64
	WarmupSteps    int
	MaxRepeat      int // repetitions of a task that run together; more are split into parts; 0: all
	// finished tasks after which a step waits no longer than WaitAfterMin for the rest; 0: it waits for all
	MinTasks     int
	WaitAfterMin time.Duration
	// Partial keeps the repetitions of a task that are finished when others fail or the task is left out.
	Partial      bool
	EvalInterval int  // explore steps between evaluations; 0: none
	Detailed     bool // evaluations show the spread over tasks, beside the mean
	Apart        bool // the trainer is in another process
	// the last step too; otherwise the weights that come of it are evaluated, by somebody else
	EvalLast      bool
	Pipeline      []pipeline.Step // of the experiences, before they are scored
	Advantage     algorithm.Advantage
	AdvantageName string // of Advantage, for messages
	Greedy        bool   // run each task once more at temperature 0, for the reward that its samples are compared with
	BaseModel     string
	Warn          func(string) // called from several goroutines
	Busy          func(string) // told what it works on, from several goroutines; may be nil
	// Raw, if set, gets the experiences of a step as they were sampled, before the pipeline; it may get a step again
	// after a restart.
	Raw buffer.Copy
	// LeftOut, if set, gets those experiences of a step that the pipeline or the advantage dropped, before the sink
	// gets the others; it may get a step again after a restart.
	LeftOut func(step int, list []*experience.Experience)
	// Evaluated, if set, gets the experiences of an evaluation of a taskset, in order of task and repetition; prefix is
	// that of its metrics. It may get one again after a restart.
	Evaluated func(step int, prefix, set string, list []*experience.Experience) error
	// Evaluations, if set, keeps the finished tasks of evaluations: those that it has are not run again.
	Evaluations *buffer.Store
	// Note, if set, writes down what depends on the clock: a task left out or timed out. It is called from several
	// goroutines.
	Note func(event string, step int, detail string) error
}

// Taskset is tasks with the way to run them.
type Taskset struct {
	Name     string
	Tasks    Tasks
	Workflow workflow.Workflow
	Rollout  workflow.Rollout // all but the sampler
	Repeat   int
	Variants []Variant // of tasks that name one, from 1
}

// Variant is another way to run some of a taskset's tasks.
type Variant struct {
	Workflow workflow.Workflow
	Rollout  workflow.Rollout
}

// Way is how a task is run.
func (s *Taskset) Way(t workflow.Task) (workflow.Workflow, workflow.Rollout) {
	if t.Variant > 0 {
		v := s.Variants[t.Variant-1]
		return v.Workflow, v.Rollout
	}
	return s.Workflow, s.Rollout
}

// Learner is Tasks whose choice depends on how earlier ones went.
type Learner interface {
	// Learn takes the rates of a step; it is called before the next step's Batch.
	Learn(step int, rates []dataset.Rate)
}

// Tasks gives the tasks of each step.
type Tasks interface {
	// Batch returns the n tasks of a step (1, 2, …), the same whenever it is asked. dataset.ErrEnd means that there
	// are no more.
	Batch(step, n int) ([]workflow.Task, error)
}

// Sink takes what a step produced.
type Sink interface {
	// Explored: metrics and experiences of a step, scored and in order of task and repetition. It comes once per step
	// and start of the process, with the same content after a restart.
	Explored(ctx context.Context, step int, metrics map[string]float64, list []*experience.Experience) error
}

// Explorer is the loop. It is made by New and runs once.
type Explorer struct {
	Options
	service tinker.Service
	sync    *synchronizer.Synchronizer
	store   *buffer.Store
	sink    Sink
	train   Taskset
	eval    []Taskset

	pace     pace
	slots    chan struct{} // one for each part that runs
	runners  chan struct{} // one for each task that runs
	inFlight sync.WaitGroup

	missed []string // numbers that were said to be missing

	sampled, dropped int  // samples of the steps of this process
	short            bool // it was said that too few are left

	latest weights // version -1: none
}

// weights are what tasks sample with.
type weights struct {
	version int
	sampler tinker.SamplingClient
}

// New makes an Explorer.
func New(o Options, service tinker.Service, sync *synchronizer.Synchronizer, store *buffer.Store, sink Sink,
	train Taskset, eval []Taskset) *Explorer {
	return &Explorer{Options: o, service: service, sync: sync, store: store, sink: sink, train: train, eval: eval,
		latest: weights{version: -1}, slots: make(chan struct{}, max(1, o.Runners)),
		runners: make(chan struct{}, max(1, o.Runners))}
}

// Run explores until Steps or the end of the tasks. When stop ends it returns at once: finished groups are stored.
func (x *Explorer) Run(ctx, stop context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer x.inFlight.Wait()
	defer cancel(nil)
	defer context.AfterFunc(stop, func() { cancel(errStopped) })()
	step, err := x.exploreAll(ctx)
	switch {
	case errors.Is(err, synchronizer.ErrStopped) || errors.Is(context.Cause(ctx), errStopped):
		return nil // nobody is left to explore for; why the trainer ended is for it to say
	case err != nil:
		return fmt.Errorf("explorer: step %d: %w", step, err)
	}
	return nil
}

var errStopped = errors.New("explorer: stopped")

// exploreAll explores the steps, as many at a time as the synchronizer's window has. Each begins when the one that many
// before it has ended, and they end in order. It returns the step of an error.
func (x *Explorer) exploreAll(ctx context.Context) (int, error) {
	var flights []*flight // under way, in order
	end := func() (step int, err error) {
		f := flights[0]
		flights = flights[1:]
		return f.step, x.end(ctx, f)
	}
	earlier := make(chan struct{})
	close(earlier)
	for step := x.First; x.Steps == 0 || step <= x.Steps; step++ {
		if len(flights) >= max(1, x.sync.Window) {
			if step, err := end(); err != nil {
				return step, err
			}
		}
		f, err := x.begin(ctx, step, earlier)
		if errors.Is(err, dataset.ErrEnd) {
			break
		}
		if err != nil {
			return step, err
		}
		flights, earlier = append(flights, f), f.given
	}
	for len(flights) > 0 {
		if step, err := end(); err != nil {
			return step, err
		}
	}
	return 0, nil
}

// without returns the experiences whose ids no experience of others has.
func without(list, others []*experience.Experience) []*experience.Experience {
	kept := make(map[experience.EID]bool, len(others))
	for _, e := range others {
		kept[e.EID] = true
	}
	var left []*experience.Experience
	for _, e := range list {
		if !kept[e.EID] {
			left = append(left, e)
		}
	}
	return left
}

// Score runs the pipeline's operators and then the advantages.
func (x *Explorer) Score(ctx context.Context, step int, list []*experience.Experience,
	metrics map[string]float64) ([]*experience.Experience, error) {
	sampled := len(list)
	list, shaped, drops, err := pipeline.Run(ctx, x.Pipeline, list)
	if err != nil {
		return nil, err
	}
	list, drops = x.usable(step, list, drops)
	if l, ok := x.train.Tasks.(Learner); ok {
		l.Learn(step, pipeline.Rates(x.Pipeline))
	}
	stream := rng.New(x.Seed).Stream("advantage", step)
	left := len(list)
	list, scored, err := x.Advantage.Assign(list, rand.New(&stream))
	if err != nil {
		return nil, err
	}
	if n := left - len(list); n > 0 {
		drops = append(drops, pipeline.Drop{Rule: x.AdvantageName, N: n})
	}
	list, drops = x.usable(step, list, drops)
	x.sampled, x.dropped = x.sampled+sampled, x.dropped+max(0, sampled-len(list))
	x.sayLoss(step, sampled, drops, list)
	x.sayMissing(step, list)
	for _, m := range []map[string]float64{shaped, scored} {
		for k, v := range m {
			metrics["experience_pipeline/"+k] = v
		}
	}
	metrics["experience_pipeline/experience_count"] = float64(len(list))
	return list, nil
}

// name gives a task its place in the run and its seed.
func (x *Explorer) name(t *workflow.Task, batch, id string, repeat int) {
	t.Batch, t.ID, t.Repeat = batch, id, repeat
	s := rng.New(x.Seed).Stream("rollout:" + batch + "/" + id)
	t.Seed = s.Uint64()
}

// awaitSampler makes the sampler of the version that a step samples with, waiting until it is published.
func (x *Explorer) awaitSampler(ctx context.Context, step int) (weights, error) {
	version, path, err := x.sync.Next(ctx, step)
	if err == nil && x.latest.version != version {
		err = x.use(ctx, version, path)
		if errors.Is(err, tinker.ErrNotFound) && x.Apart && x.sync.Replaced(ctx, version, path) {
			return x.awaitSampler(ctx, step) // the trainer went back, and publishes them again under another path
		}
	}
	if ruled, known := x.sync.Ruled(step); err == nil && !x.short && known && version < ruled {
		x.short = true
		x.Warn(fmt.Sprintf("explore step %d: too few samples are left for the trainer to make weights version %d; "+
			"sampling continues with version %d. Filters have dropped %d of %d samples so far (%.0f %%); this is said "+
			"once, and the metric rollout/model_version shows what each step samples with",
			step, ruled, version, x.dropped, x.sampled, 100*float64(x.dropped)/float64(max(1, x.sampled))))
	}
	return x.latest, err
}

func (x *Explorer) use(ctx context.Context, version int, path string) error {
	req := tinker.SamplingClientRequest{ModelPath: path}
	if path == "" {
		req.BaseModel = x.BaseModel
	}
	sampler, err := x.service.SamplingClient(ctx, req)
	if err != nil {
		return fmt.Errorf("weights version %d: %w", version, err)
	}
	x.latest = weights{version, sampler}
	return nil
}
