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
	"github.com/seed-d9ad8ee0/trinity/run/internal/data"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
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

// openExploring makes the explorer of a configuration, which begins with explore step first or an earlier one.
func (l *loops) openExploring(ctx context.Context, first int) (x exploring, err error) {
	x.first = first
	if l.Config.Mode != config.Bench {
		x, err = openTrainTasks(ctx, l.Job, first)
	} else {
		x.evaluations, err = openEvaluations(l.Job)
	}
	if err != nil {
		return x, err
	}
	list := l.Config.Buffer.ExplorerInput.EvalTasksets
	for i := range list {
		t, err := data.EvalTaskset(ctx, l.Job, &list[i], "buffer.explorer_input.eval_tasksets["+strconv.Itoa(i)+"]")
		if err != nil {
			return x, err
		}
		x.evals = append(x.evals, t)
	}
	if x.pending, err = l.openPending(); err != nil {
		return x, err
	}
	x.explorer, err = l.newExplorer(ctx, x)
	return x, err
}

// openPending opens the metrics of explore steps that wait for their train steps, where the steps' experiences are kept
// for good; nil if steps without a line are explored again.
func (l *loops) openPending() (*record.Pending, error) {
	if l.exchange == nil || l.Beside() {
		return nil, nil
	}
	if _, kept := l.exchange.Explored(); !kept {
		return nil, nil
	}
	store, err := buffer.OpenStore(l.Dir.File("buffer", "metrics"+l.Dir.Suffix()), l.FS)
	if err != nil {
		return nil, err
	}
	l.Opened(store.Close)
	return &record.Pending{Store: store, Lines: l.lines()}, nil
}

// openTrainTasks opens what is trained on, and the store of its groups.
func openTrainTasks(ctx context.Context, j *job.Job, first int) (x exploring, err error) {
	var t *data.Tasks
	if x.train, t, x.steps, err = data.TrainTasksets(ctx, j); err != nil {
		return x, err
	}
	x.adaptive = t.Adaptive()
	if x.first, err = firstStep(explorerState(j), t, first); err != nil {
		return x, err
	}
	store, err := buffer.OpenStore(storePath(j.Dir), j.FS)
	if err != nil {
		return x, err
	}
	j.Opened(store.Close)
	x.kept = &explorer.Kept{FS: j.FS, Path: explorerState(j), Store: store, Tasks: t,
		Batch: j.Config.Buffer.BatchSize}
	return x, nil
}

// openEvaluations opens the finished tasks of an earlier call of mode bench with the same configuration that was
// stopped.
func openEvaluations(j *job.Job) (*buffer.Store, error) {
	raw, err := json.Marshal(j.Config)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	sum := sha256.Sum256(raw)
	store, err := buffer.OpenStore(j.Dir.File("evaluating", hex.EncodeToString(sum[:8])), j.FS)
	if err != nil {
		return nil, err
	}
	j.Opened(store.Close)
	return store, nil
}

// explorerOptions returns the explorer's options, except what it writes to.
func explorerOptions(j *job.Job, x exploring) (explorer.Options, error) {
	operators, err := plan.Operators(j.Config, j.Operators)
	if err != nil {
		return explorer.Options{}, err
	}
	e := j.Config.Explorer
	o := explorer.Options{
		Seed: j.ID.Seed, First: x.first, Steps: x.steps, BatchSize: j.Config.Buffer.BatchSize,
		Runners: runnersOf(j.Config, j.Backend), EvalRunners: evalRunnersOf(j.Config, j.Backend),
		Retries: e.MaxRetryTimes, Timeout: plan.Seconds(e.MaxTimeout),
		EvalInterval: e.EvalInterval, EvalLast: j.Beside(), Apart: j.Beside(), Detailed: j.Config.Monitor.DetailedStats,
		Pipeline: operators, Advantage: j.Method.Advantage, AdvantageName: j.Config.Algorithm.AdvantageFn,
		Greedy: j.Method.Needs().Baseline, BaseModel: j.Model.Name,
		Partial:   e.OverRollout.ReturnPartialTasks,
		MaxRepeat: plan.Value(e.MaxRepeatTimesPerRunner), WaitAfterMin: plan.Seconds(e.OverRollout.WaitAfterMin),
		Warn: j.Progress.Warn, Busy: j.Progress.Phase,
	}
	if e.DynamicTimeout.Enable {
		o.DynamicTimeout, o.WarmupSteps = e.DynamicTimeout.Ratio, e.DynamicTimeout.WarmupMinSteps
	}
	if r := e.OverRollout.Ratio; r > 0 {
		o.MinTasks = int(math.Ceil(float64(j.Config.Buffer.BatchSize) * (1 - r)))
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
		return max(n, plan.ExploreSamples(cfg)*plan.Window(cfg)) // however finely max_repeat_times_per_runner cuts
	}
	return max(n, min(cfg.Buffer.BatchSize*plan.Window(cfg), tasksOf(cfg, together(cfg, backend))))
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

// rolloutsOf is the record of a job's samples, with the texts of their tokens.
func rolloutsOf(j *job.Job) buffer.Rollouts {
	r := buffer.Rollouts{FS: j.FS, Dir: j.Dir.File("rollouts")}
	if m := j.Model; m != nil && m.Tokenizer != nil {
		r.Tokenizer = m.Tokenizer
	}
	return r
}

// newExplorer makes the explorer of what x has.
func (l *loops) newExplorer(ctx context.Context, x exploring) (*explorer.Explorer, error) {
	o, err := explorerOptions(l.Job, x)
	if err != nil {
		return nil, err
	}
	if o.Raw, err = l.openRaw(ctx); err != nil {
		return nil, err
	}
	rollouts := rolloutsOf(l.Job)
	o.Evaluated, o.Note = rollouts.Evaluated, l.order.Sampling
	o.Evaluations = x.evaluations
	var store *buffer.Store
	if x.kept != nil {
		store = x.kept.Store
	}
	sink := &record.Explored{Rollouts: rollouts, Monitor: l.monitor, Progress: l.Progress, To: l.exchange,
		Lines: l.lines(), Feed: l.feed, Aside: l.Beside(), Kept: x.kept, Pending: x.pending}
	if x.pending != nil {
		explored, _ := l.exchange.Explored() // no step up to this one is explored again for its samples
		if err := sink.Resume(explored, l.resumed.Step); err != nil {
			return nil, err
		}
	}
	o.LeftOut = sink.LeftOut
	return explorer.New(o, l.API, l.sync, store, sink, x.train, x.evals), nil
}

// lines says which line of metrics an explore step has, for a trainer that continues at a state.
func (l *loops) lines() record.Lines {
	if l.Beside() {
		return record.OwnLines{}
	}
	n := plan.TrainSamples(l.Config, l.Method)
	if _, queue := l.exchange.(*buffer.Handover); !queue {
		return record.PlannedLines{Explored: plan.ExploreSamples(l.Config), Trained: n}
	}
	return record.NewTrainLines(l.resumed.State, n, l.Method.SampleStrategy.MinVersion)
}
