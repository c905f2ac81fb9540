package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/buffer"
	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/explorer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/pipeline"
	"github.com/seed-d9ad8ee0/trinity/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/trainer"
)

// buildRecords opens what the run writes its progress to: store, monitor, and the versions known so far.
func (b *job) buildRecords(context.Context) error {
	if err := b.refuse(); err != nil {
		return err
	}
	state, err := b.readState()
	if err != nil {
		return err
	}
	keep := state.Step
	if b.aside() {
		keep = b.exploreStep(state) - 1
	}
	if keep == 0 {
		keep = -1
		if lines, err := monitor.ReadLog(b.metricsFile()); err == nil && len(lines) > 0 && lines[0].Step == 0 {
			keep = 0 // the evaluation at the start stands
		}
	}
	if b.monitor, err = monitor.Open(monitor.Config{Dir: b.dir, Log: filepath.Base(b.metricsFile()), Type: b.cfg.Monitor.MonitorType, Args: b.cfg.Monitor.MonitorArgs, Keep: keep, Now: b.Now, Hook: b.hook(),
		Project: b.cfg.Project, Group: b.cfg.Group, Name: b.cfg.Name, Roles: b.roles(), Settings: b.cfg.Settings(), Own: b.Plugins.Monitors, LookupEnv: b.LookupEnv, Warn: b.progress.warn}); err != nil {
		return err
	}
	b.opened(b.monitor.Close)
	if b.cfg.Monitor.MonitorType == "wandb" {
		fmt.Fprintf(b.Out, "wandb    kept offline; send it with: wandb sync %s\n", filepath.Join(b.dir, "monitor", "wandb", "*", "offline-run-*"))
	}
	if b.cfg.Mode.Explores() {
		if b.store, err = buffer.OpenStore(filepath.Join(b.dir, "buffer", "explored"+b.suffix()), b.hook()); err != nil {
			return err
		}
		b.opened(b.store.Close)
	}
	return b.buildSync()
}

// aside reports whether the process samples beside a trainer in another one.
func (b *job) aside() bool { return b.cfg.Mode == config.Explore || b.cfg.Mode == config.Serve }

// sampledFrom reports whether somebody samples from what this process trains.
func (b *job) sampledFrom() bool {
	return b.cfg.Mode.Explores() || b.cfg.Mode.Serves() || b.followed()
}

// suffix tells apart what explorers in processes of their own write beside each other.
func (b *job) suffix() string {
	if b.aside() {
		return "-" + b.cfg.Explorer.Name
	}
	return ""
}

// metricsFile is metrics.jsonl, or what an explorer in a process of its own has instead: its lines are by explore step.
func (b *job) metricsFile() string { return filepath.Join(b.dir, "metrics"+b.suffix()+".jsonl") }

// buildSync makes the synchronizer of the style.
func (b *job) buildSync() (err error) {
	s := b.cfg.Synchronizer
	schedule, timeout := synchronizer.Schedule{Interval: max(1, s.SyncInterval), Offset: s.SyncOffset}, seconds(s.SyncTimeout)
	b.folder = synchronizer.Folder{FS: b.FS, Dir: b.dir}
	style := map[config.SyncStyle]synchronizer.Style{config.TrainerDriven: synchronizer.TrainerDriven, config.ExplorerDriven: synchronizer.ExplorerDriven}[s.SyncStyle]
	if style != synchronizer.Fixed {
		if b.order, err = synchronizer.OpenOrder(b.FS, filepath.Join(b.dir, "log", "order"+b.suffix()+".jsonl"), b.Now); err != nil {
			return err
		}
		b.opened(b.order.Close)
		b.sync = synchronizer.NewDriven(style, schedule, timeout, b.order)
	} else {
		b.sync = synchronizer.New(schedule, timeout)
	}
	if b.cfg.Mode == config.Explore {
		b.sync.Tell = func(e synchronizer.ExplorerStatus) error { return b.folder.WriteExplorer(b.cfg.Explorer.Name, e) }
	}
	return nil
}

// roles are the loops whose metrics are recorded.
func (b *job) roles() []string {
	var list []string
	if b.cfg.Mode != config.Train {
		list = append(list, "explorer")
	}
	if b.cfg.Mode.Trains() {
		list = append(list, "trainer")
	}
	return list
}

// readState is where the job goes on: where it stopped, or on a service that keeps no models at the last state it saved.
func (b *job) readState() (trainer.State, error) {
	state, err := trainer.ReadState(b.dir, b.cfg.Trainer.Name)
	if err == nil && state.Foreign {
		return b.upstreamState(state)
	}
	if err != nil || b.durable() {
		return state, err
	}
	b.lost = state.Step - state.Saved
	return state.Back(), nil
}

// buildLoops makes explorer and trainer, each at the place where the job goes on.
func (b *job) buildLoops(ctx context.Context) error {
	state, err := b.readState()
	if err != nil {
		return err
	}
	rec := &recorder{job: b}
	explores := b.cfg.Mode.Explores()
	exploreSteps := 0
	if explores {
		if exploreSteps, err = b.buildExplorer(ctx, state, rec); err != nil {
			return err
		}
	}
	if err := b.knownVersions(ctx, state); err != nil {
		return err
	}
	b.explored, b.steps = exploreSteps, b.totalSteps(exploreSteps)
	if err := b.checkStaleness(); err != nil {
		return err
	}
	if !b.cfg.Mode.Trains() {
		return b.onlyExplore()
	}
	source, err := b.buildSource(ctx, state)
	if err != nil {
		return err
	}
	schedule, err := b.schedule()
	if err != nil {
		return err
	}
	if err := b.sayEntropies(ctx); err != nil {
		return err
	}
	b.progress.total = b.steps
	b.trainer = trainer.New(trainer.Options{
		Name: b.cfg.Trainer.Name, JobDir: b.dir, Prefix: prefix(b.cfg), TotalSteps: b.steps, BatchSize: b.cfg.Buffer.TrainBatchSize,
		SaveInterval: b.cfg.Trainer.SaveInterval, Method: b.method, Schedule: schedule, Adam: b.adam(), Create: b.createRequest(), From: b.start, Teacher: b.teacher.request,
		Vocab: b.vocabulary(),
		FS:    b.FS, Durable: b.durable(), Publishes: b.publishes(ctx),
	}, b.service, source, rec, state)
	return nil
}

// sampled is how many of a train step's experiences the explorer makes: all, unless an expert's data is mixed in.
func (b *job) sampled() int {
	usual, _ := b.method.SampleStrategy.Split(b.cfg.Buffer.TrainBatchSize)
	return max(1, usual)
}

// buildSource makes the trainer's source, at the place where the job goes on.
func (b *job) buildSource(ctx context.Context, state trainer.State) (trainer.Source, error) {
	eb := b.cfg.Buffer.TrainerInput.ExperienceBuffer
	var from feed
	switch {
	case b.table != nil:
		b.table.reads = state.Position.Count
		from = b.table
	case b.cfg.Mode.Explores() || b.cfg.Mode.Serves():
		if eb.StorageType != "queue" {
			return nil, fmt.Errorf("run: experience_buffer.storage_type %s is not for mode %s; use queue or sql", eb.StorageType, b.cfg.Mode)
		}
		q := newQueueFeed(buffer.NewQueue(eb.Capacity, seconds(eb.MaxReadTimeout)), b.sync, state.Position)
		b.outlet, from = q, q
	}
	if from != nil {
		expert, err := b.openExpert(ctx, state.Position)
		b.source = &samples{feed: from, strategy: b.method.SampleStrategy, expert: expert}
		return b.source, err
	}
	fs, err := b.buildFileSource(ctx, state.Position)
	if err != nil {
		return nil, err
	}
	b.steps = fs.reader.Steps()
	return fs, nil
}

// onlyExplore checks that mode explore has somewhere to put what it samples.
func (b *job) onlyExplore() error {
	if b.aside() && b.outlet == nil {
		return fmt.Errorf("run: mode %s hands its experiences to another process; set buffer.trainer_input.experience_buffer.storage_type: sql (or file, to keep them as JSON lines)", b.cfg.Mode)
	}
	return nil
}

// publishes says after which steps weights are published: every sync_interval steps, or when an explorer asks for them, and the last
// step's for the evaluation at the end. nil when there is no explorer.
func (b *job) publishes(ctx context.Context) func(int) bool {
	if !b.sampledFrom() {
		if b.stage != nil {
			return func(step int) bool { return step == b.steps } // the next stage may sample with them
		}
		return nil
	}
	if b.cfg.Synchronizer.SyncStyle != config.ExplorerDriven {
		return func(step int) bool { return b.sync.Publishes(step) || step == b.steps }
	}
	return func(step int) bool {
		if step == b.steps {
			return true
		}
		if published, ok := b.order.Decided(step); ok {
			return published // a step that is run again sends the same requests
		}
		wanted, err := b.wanted(ctx)
		b.failed = errors.Join(b.failed, err, b.order.Decide(step, wanted))
		return wanted
	}
}

// wanted reports whether an explorer waits for weights, or would wait in vain as the trainer is about to wait for it.
func (b *job) wanted(ctx context.Context) (bool, error) {
	if b.sync.Asks() {
		return true, nil
	}
	others, err := b.folder.Explorers()
	if err != nil {
		return false, err
	}
	for _, e := range others {
		if e.Asks {
			return true, nil
		}
	}
	return b.source.short(ctx, b.sampled(), b.method.SampleStrategy.MinVersion(b.trainer.Step()+2))
}

// totalSteps is how many train steps the run has: trainer.total_steps, buffer.total_steps, or as many as the tasks feed.
func (b *job) totalSteps(exploreSteps int) int {
	feed := 0
	if exploreSteps > 0 {
		feed = exploreSteps * b.cfg.Buffer.BatchSize * b.cfg.Algorithm.RepeatTimes / b.sampled()
	} else if n := b.cfg.Buffer.TotalSteps; n != nil {
		feed = *n
	}
	if n := b.cfg.Trainer.TotalSteps; n != nil && (feed == 0 || *n < feed) {
		return *n
	}
	return feed
}

func (b *job) buildExplorer(ctx context.Context, state trainer.State, rec *recorder) (steps int, err error) {
	var train explorer.Taskset
	if b.cfg.Mode != config.Bench {
		if train, steps, err = b.trainTasksets(ctx); err != nil {
			return 0, err
		}
	}
	for i := range b.cfg.Buffer.ExplorerInput.EvalTasksets {
		t, err := b.evalTaskset(ctx, &b.cfg.Buffer.ExplorerInput.EvalTasksets[i], "buffer.explorer_input.eval_tasksets["+strconv.Itoa(i)+"]")
		if err != nil {
			return 0, err
		}
		b.evals = append(b.evals, t)
	}
	first := b.exploreStep(state)
	if b.tasks != nil && b.tasks.states != nil {
		if first, err = b.learned(first); err != nil {
			return 0, err
		}
	}
	operators, err := b.operators()
	if err != nil {
		return 0, err
	}
	raw, err := b.rawSink()
	if err != nil {
		return 0, err
	}
	x := b.cfg.Explorer
	dynamic, least := 0.0, 0
	if x.DynamicTimeout.Enable {
		dynamic = x.DynamicTimeout.Ratio
	}
	if r := x.OverRollout.Ratio; r > 0 {
		least = int(math.Ceil(float64(b.cfg.Buffer.BatchSize) * (1 - r)))
	}
	b.explorer = explorer.New(explorer.Options{
		Seed: b.identity.Seed, First: first, Steps: steps, BatchSize: b.cfg.Buffer.BatchSize,
		Runners: b.runners(), Retries: x.MaxRetryTimes,
		Timeout: seconds(x.MaxTimeout), EvalInterval: x.EvalInterval, Pipeline: operators, Advantage: b.method.Advantage, BaseModel: b.model.name,
		DynamicTimeout: dynamic, MaxRepeat: value(x.MaxRepeatTimesPerRunner), MinTasks: least, WaitAfterMin: seconds(x.OverRollout.WaitAfterMin),
		Note:   func(event string, step int, detail string) error { return b.order.Note(event, step, 0, detail) },
		Raw:    raw,
		Greedy: b.method.Needs().Baseline,
		Warn:   func(msg string) { b.progress.warn(msg) },
	}, b.service, b.sync, b.store, rec, train, b.evals)
	return steps, nil
}

// runners is how many tasks run at a time. The configuration counts them by its own inference engines; a server has a queue of its own and
// says when it is full, so there all tasks of a step are asked for at once.
func (b *job) runners() int {
	x := b.cfg.Explorer
	n := max(1, x.RunnerPerModel*max(1, x.RolloutModel.EngineNum))
	if b.backend.Kind != config.Local {
		n = max(n, b.cfg.Buffer.BatchSize*b.cfg.Algorithm.RepeatTimes) // however finely max_repeat_times_per_runner cuts them
	}
	return n
}

// refuse names what the configuration asks for and this version does not do.
func (b *job) refuse() error {
	if p := b.cfg.DataProcessor.TaskPipeline; p != nil && (len(p.Operators) > 0 || p.ConfigPath != "") {
		return errors.New("run: data_processor.task_pipeline runs operators of the Python service Data-Juicer, which is not supported; prepare the tasks with it beforehand and name its output in the taskset")
	}
	return nil
}

// operators are the steps that experiences go through before they are scored.
func (b *job) operators() ([]pipeline.Step, error) {
	var steps []pipeline.Step
	for i, op := range b.cfg.DataProcessor.ExperiencePipeline.Operators {
		s, err := pipeline.New(op.Name, op.Args, b.Plugins.Operators)
		if err != nil {
			return nil, fmt.Errorf("data_processor.experience_pipeline.operators[%d]: %w", i, err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// exploreStep is the first explore step that is to be done, as far as the trainer's state knows it.
func (b *job) exploreStep(state trainer.State) int {
	if k, ok := b.outlet.(keeper); ok {
		return k.explored() + 1
	}
	return max(1, state.Position.Step)
}

// needed is the oldest version that an explorer may still ask for.
func (b *job) needed(state trainer.State) (int, error) {
	if b.cfg.Mode.Explores() {
		return b.sync.Needed(b.exploreStep(state)), nil
	}
	if b.cfg.Mode.Serves() {
		return b.sync.Newest(), nil // open samplers keep their weights
	}
	others, err := b.folder.Explorers()
	if err != nil || len(others) == 0 {
		return 0, err
	}
	oldest := others[0].Version
	for _, e := range others {
		oldest = min(oldest, e.Version)
	}
	return oldest, nil
}

func seconds(s float64) time.Duration {
	return time.Duration(math.Min(s*float64(time.Second), math.MaxInt64/2))
}

// knownVersions tells the synchronizer what the job has published, and deletes what a killed process meant to.
func (b *job) knownVersions(ctx context.Context, state trainer.State) error {
	b.sync.Publish(0, b.startSampler)
	if !b.cfg.Mode.Trains() || !b.sampledFrom() {
		return nil
	}
	needed, err := b.needed(state)
	if err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(b.dir, "global_step_*", "remote_sampler_path.txt"))
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	for _, file := range paths {
		version, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "global_step_"))
		if err != nil {
			continue // not ours
		}
		path, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("run: %w", err)
		}
		switch {
		case version > state.Step && b.durable(): // of the interrupted step, which publishes it again
		case version > state.Step || version < needed: // a model that is trained again publishes under another path
			if err := b.retire(ctx, string(path)); err != nil {
				return err
			}
		default:
			b.sync.Publish(version, string(path))
		}
	}
	return nil
}

// retire deletes sampler weights that no step will ask for again, and their note in the job directory.
func (b *job) retire(ctx context.Context, path string) error {
	if err := b.service.DeleteCheckpoint(ctx, path); err != nil && !errors.Is(err, tinker.ErrNotFound) {
		return fmt.Errorf("run: old sampler weights: %w", err)
	}
	p, err := tinker.ParsePath(path)
	if err != nil {
		return err
	}
	step := p.Name[strings.LastIndex(p.Name, "-")+1:]
	dir := filepath.Join(b.dir, "global_step_"+step)
	if err := b.FS.Remove(filepath.Join(dir, "remote_sampler_path.txt")); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if left, err := os.ReadDir(dir); err == nil && len(left) == 0 {
		return b.FS.Remove(dir)
	}
	return nil
}
