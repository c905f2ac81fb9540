package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/loop/record"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/run/internal/data"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
)

// exploring is an explorer and what it explores.
type exploring struct {
	explorer *explorer.Explorer
	kept     *explorer.Kept // until it is trained; nil in mode bench
	train    explorer.Taskset
	evals    []explorer.Taskset
	first    int             // explore step to begin with
	steps    int             // explore steps in all
	adaptive bool            // the choice of tasks depends on how earlier ones went
	pending  *record.Pending // metrics of explore steps; nil: none are kept

	evaluations *buffer.Store // finished tasks of mode bench; nil in other modes
}

// sinks are what an explorer writes to and hears from.
type sinks struct {
	travel   travel
	exchange buffer.Exchange
	monitor  *monitor.Monitor
	raw      buffer.Copy   // of what was sampled, before the pipeline; nil: none
	trained  trainer.State // where the trainer continues
}

// openExploring makes the explorer of a configuration, which begins with explore step first or an earlier one.
func openExploring(ctx context.Context, p parts, to sinks, first int) (x exploring, err error) {
	x.first = first
	if p.cfg.Mode != config.Bench {
		x, err = openTrainTasks(ctx, p, first)
	} else {
		x.evaluations, err = openEvaluations(p)
	}
	if err != nil {
		return x, err
	}
	list := p.cfg.Buffer.ExplorerInput.EvalTasksets
	for i := range list {
		t, err := p.data().EvalTaskset(ctx, &list[i], "buffer.explorer_input.eval_tasksets["+strconv.Itoa(i)+"]")
		if err != nil {
			return x, err
		}
		x.evals = append(x.evals, t)
	}
	if x.pending, err = openPending(p, to); err != nil {
		return x, err
	}
	x.explorer, err = newExplorer(p, x, to)
	return x, err
}

// openPending opens the metrics of explore steps that wait for their train steps, where the steps' experiences are kept
// for good; nil where steps without a line are explored again.
func openPending(p parts, to sinks) (*record.Pending, error) {
	if to.exchange == nil || p.aside() {
		return nil, nil
	}
	if _, kept := to.exchange.Explored(); !kept {
		return nil, nil
	}
	store, err := buffer.OpenStore(p.folder.File("buffer", "metrics"+p.folder.Suffix()), p.site.FS)
	if err != nil {
		return nil, err
	}
	p.opened(store.Close)
	return &record.Pending{Store: store, Lines: linesOf(p, to)}, nil
}

// openTrainTasks opens what is trained on, and the store of its groups.
func openTrainTasks(ctx context.Context, p parts, first int) (x exploring, err error) {
	var t *data.Tasks
	if x.train, t, x.steps, err = p.data().TrainTasksets(ctx); err != nil {
		return x, err
	}
	x.adaptive = t.Adaptive()
	if x.first, err = firstStep(explorerState(p), t, first); err != nil {
		return x, err
	}
	store, err := buffer.OpenStore(storePath(p.folder), p.site.FS)
	if err != nil {
		return x, err
	}
	p.opened(store.Close)
	x.kept = &explorer.Kept{FS: p.site.FS, Path: explorerState(p), Store: store, Tasks: t,
		Batch: p.cfg.Buffer.BatchSize}
	return x, nil
}

// openEvaluations opens the finished tasks of an earlier call of mode bench with the same configuration that was
// stopped.
func openEvaluations(p parts) (*buffer.Store, error) {
	raw, err := json.Marshal(p.cfg)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	sum := sha256.Sum256(raw)
	store, err := buffer.OpenStore(p.folder.File("evaluating", hex.EncodeToString(sum[:8])), p.site.FS)
	if err != nil {
		return nil, err
	}
	p.opened(store.Close)
	return store, nil
}

// explorerOptions are those of a configuration's explorer but for what it writes to.
func explorerOptions(p parts, x exploring) (explorer.Options, error) {
	operators, err := plan.Operators(p.cfg, p.site.Own.Operators)
	if err != nil {
		return explorer.Options{}, err
	}
	e := p.cfg.Explorer
	o := explorer.Options{
		Seed: p.id.Seed, First: x.first, Steps: x.steps, BatchSize: p.cfg.Buffer.BatchSize,
		Runners: runnersOf(p.cfg, p.backend), EvalRunners: evalRunnersOf(p.cfg, p.backend),
		Retries: e.MaxRetryTimes, Timeout: plan.Seconds(e.MaxTimeout),
		EvalInterval: e.EvalInterval, EvalLast: p.aside(), Apart: p.aside(), Detailed: p.cfg.Monitor.DetailedStats,
		Pipeline: operators, Advantage: p.method.Advantage, AdvantageName: p.cfg.Algorithm.AdvantageFn,
		Greedy: p.method.Needs().Baseline, BaseModel: p.models.base.Name,
		MaxRepeat: plan.Value(e.MaxRepeatTimesPerRunner), WaitAfterMin: plan.Seconds(e.OverRollout.WaitAfterMin),
		Warn: p.say.progress.Warn, Busy: p.say.progress.Phase,
	}
	if e.DynamicTimeout.Enable {
		o.DynamicTimeout = e.DynamicTimeout.Ratio
	}
	if r := e.OverRollout.Ratio; r > 0 {
		o.MinTasks = int(math.Ceil(float64(p.cfg.Buffer.BatchSize) * (1 - r)))
	}
	return o, nil
}

const (
	// togetherHere is how many samples at least are asked of the local engine at a time, and togetherFleet of one with
	// workers, unless explorer.runner_per_model is given. The engine decodes up to 256 together, most of their speed
	// is had with 64, and the more there are the longer each of them takes.
	togetherHere, togetherFleet = 64, 256
	// togetherServer is how many samples a client has on the way to a server at a time.
	togetherServer = 400
)

// runnersOf is how many tasks run at a time. The configuration counts them by its own inference engines; a server has
// a queue of its own and says when it is full, so there all tasks of a step are asked for at once.
func runnersOf(cfg *config.Config, backend config.Backend) int {
	x := cfg.Explorer
	n := max(1, x.RunnerPerModel*max(1, x.RolloutModel.EngineNum))
	if backend.Kind != config.Local {
		return max(n, plan.ExploreSamples(cfg)) // however finely max_repeat_times_per_runner cuts them
	}
	return max(n, min(cfg.Buffer.BatchSize, tasksOf(cfg, together(cfg, backend))))
}

// evalRunnersOf is how many tasks of an evaluation run at a time: as many as training has samples at a time, or more.
func evalRunnersOf(cfg *config.Config, backend config.Backend) int {
	return max(runnersOf(cfg, backend)*max(1, cfg.Algorithm.RepeatTimes), together(cfg, backend))
}

// together is how many samples at least are asked for at a time; 0 leaves that to explorer.runner_per_model.
func together(cfg *config.Config, backend config.Backend) int {
	switch {
	case backend.Kind != config.Local:
		return togetherServer
	case cfg.Given("explorer.runner_per_model"):
		return 0
	case cfg.Fleet.On():
		return togetherFleet
	}
	return togetherHere
}

// tasksOf is the number of tasks that have that many samples.
func tasksOf(cfg *config.Config, samples int) int {
	n := max(1, cfg.Algorithm.RepeatTimes)
	return (samples + n - 1) / n
}

// firstStep is the explore step to begin with: first, or an earlier one, whose groups are stored, when the choice of
// tasks learns from how earlier ones went and what it has learned was written before them.
func firstStep(path string, t *data.Tasks, first int) (int, error) {
	if !t.Adaptive() {
		return first, nil
	}
	s, there, err := explorer.ReadState(path)
	if err != nil || !there {
		return 1, err
	}
	if err := t.Restore(s.Tasksets); err != nil {
		return 0, fmt.Errorf("run: %s: %w", path, err)
	}
	return min(first, s.Step+1), nil
}

// newExplorer makes the explorer of what x has.
func newExplorer(p parts, x exploring, to sinks) (*explorer.Explorer, error) {
	o, err := explorerOptions(p, x)
	if err != nil {
		return nil, err
	}
	rollouts := buffer.Rollouts{FS: p.site.FS, Dir: p.folder.File("rollouts"), Tokenizer: p.models.base.Tokenizer}
	o.Raw, o.Evaluated, o.Note = to.raw, rollouts.Evaluated, to.travel.order.Sampling
	o.Evaluations = x.evaluations
	var store *buffer.Store
	if x.kept != nil {
		store = x.kept.Store
	}
	sink := &record.Explored{Rollouts: rollouts, Monitor: to.monitor, Progress: p.say.progress, To: to.exchange,
		Lines: linesOf(p, to), Aside: p.aside(), Kept: x.kept, Pending: x.pending}
	if x.pending != nil {
		explored, _ := to.exchange.Explored() // no step up to this one is explored again for its samples
		if err := sink.Resume(explored, to.trained.Step); err != nil {
			return nil, err
		}
	}
	o.LeftOut = sink.LeftOut
	return explorer.New(o, p.models.service.API, to.travel.sync, store, sink, x.train, x.evals), nil
}

// linesOf says in which line of metrics an explore step stands, for a trainer that continues at a state.
func linesOf(p parts, to sinks) record.Lines {
	if p.aside() {
		return record.OwnLines{}
	}
	n := plan.TrainSamples(p.cfg, p.method)
	if _, queue := to.exchange.(*buffer.Handover); !queue {
		return record.PlannedLines{Explored: plan.ExploreSamples(p.cfg), Trained: n}
	}
	return record.NewTrainLines(to.trained, n, p.method.SampleStrategy.MinVersion)
}
