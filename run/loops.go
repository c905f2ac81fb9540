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
	state, err := b.readState()
	if err != nil {
		return err
	}
	keep := state.Step
	if keep == 0 {
		keep = -1
		if lines, err := monitor.ReadLog(filepath.Join(b.dir, "metrics.jsonl")); err == nil && len(lines) > 0 && lines[0].Step == 0 {
			keep = 0 // the evaluation at the start stands
		}
	}
	if b.monitor, err = monitor.Open(monitor.Config{Dir: b.dir, Type: b.cfg.Monitor.MonitorType, Args: b.cfg.Monitor.MonitorArgs, Keep: keep, Now: b.Now, Hook: b.hook(),
		Project: b.cfg.Project, Group: b.cfg.Group, Name: b.cfg.Name, Roles: b.roles(), Settings: b.cfg.Settings(), LookupEnv: b.LookupEnv, Warn: b.progress.warn}); err != nil {
		return err
	}
	b.opened(b.monitor.Close)
	if b.cfg.Monitor.MonitorType == "wandb" {
		fmt.Fprintf(b.Out, "wandb    kept offline; send it with: wandb sync %s\n", filepath.Join(b.dir, "monitor", "wandb", "*", "offline-run-*"))
	}
	if b.store, err = buffer.OpenStore(filepath.Join(b.dir, "buffer", "explored"), b.hook()); err != nil {
		return err
	}
	b.opened(b.store.Close)
	s := b.cfg.Synchronizer
	b.sync = synchronizer.New(synchronizer.Schedule{Interval: max(1, s.SyncInterval), Offset: s.SyncOffset}, time.Duration(s.SyncTimeout*float64(time.Second)))
	return nil
}

// roles are the loops whose metrics are recorded.
func (b *job) roles() []string {
	var list []string
	if b.cfg.Mode.Explores() {
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
	var source trainer.Source
	exploreSteps := 0
	if explores {
		if exploreSteps, err = b.buildExplorer(ctx, state, rec); err != nil {
			return err
		}
		if err := b.knownVersions(ctx, state); err != nil {
			return err
		}
	}
	b.explored, b.steps = exploreSteps, b.totalSteps(exploreSteps)
	if err := b.checkStaleness(); err != nil {
		return err
	}
	switch {
	case !b.cfg.Mode.Trains():
		return nil
	case explores:
		eb := b.cfg.Buffer.TrainerInput.ExperienceBuffer
		if eb.StorageType != "queue" {
			return fmt.Errorf("run: experience_buffer.storage_type %s is not in this version for mode %s; use queue", eb.StorageType, b.cfg.Mode)
		}
		expert, err := b.openExpert(ctx, state.Position)
		if err != nil {
			return err
		}
		b.source = newQueueSource(buffer.NewQueue(eb.Capacity, time.Duration(eb.MaxReadTimeout*float64(time.Second))), state.Position, b.method.SampleStrategy, expert)
		source = b.source
	default:
		fs, err := b.buildFileSource(ctx, state.Position)
		if err != nil {
			return err
		}
		b.steps = fs.reader.Steps()
		source = fs
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
		FS: b.FS, Durable: b.durable(), Publishes: b.publishes(explores),
	}, b.service, source, rec, state)
	return nil
}

// sampled is how many of a train step's experiences the explorer makes: all, unless an expert's data is mixed in.
func (b *job) sampled() int {
	usual, _ := b.method.SampleStrategy.Split(b.cfg.Buffer.TrainBatchSize)
	return max(1, usual)
}

// publishes: every sync_interval steps, and the last step's weights for the evaluation at the end.
func (b *job) publishes(explores bool) func(int) bool {
	if !explores {
		return nil
	}
	return func(step int) bool { return b.sync.Publishes(step) || step == b.steps }
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
	training := b.cfg.Buffer.ExplorerInput.Training()
	var train explorer.Taskset
	switch {
	case b.cfg.Mode == config.Bench:
	case len(training) == 1:
		if train, steps, err = b.taskset(ctx, &training[0], "buffer.explorer_input.taskset", false); err != nil {
			return 0, err
		}
	default:
		return 0, fmt.Errorf("run: %d training tasksets; this version takes one", len(training))
	}
	for i := range b.cfg.Buffer.ExplorerInput.EvalTasksets {
		t, _, err := b.taskset(ctx, &b.cfg.Buffer.ExplorerInput.EvalTasksets[i], "buffer.explorer_input.eval_tasksets["+strconv.Itoa(i)+"]", true)
		if err != nil {
			return 0, err
		}
		b.evals = append(b.evals, t)
	}
	operators, err := b.operators()
	if err != nil {
		return 0, err
	}
	x := b.cfg.Explorer
	b.explorer = explorer.New(explorer.Options{
		Seed: b.identity.Seed, First: max(1, state.Position.Step), Steps: steps, BatchSize: b.cfg.Buffer.BatchSize,
		Runners: max(1, x.RunnerPerModel*max(1, x.RolloutModel.EngineNum)), Retries: x.MaxRetryTimes,
		Timeout: seconds(x.MaxTimeout), EvalInterval: x.EvalInterval, Pipeline: operators, Advantage: b.method.Advantage, BaseModel: b.model.name,
		Greedy: b.method.Needs().Baseline,
		Warn:   func(msg string) { b.progress.warn(msg) },
	}, b.service, b.sync, b.store, rec, train, b.evals)
	return steps, nil
}

// operators are the steps that experiences go through before they are scored.
func (b *job) operators() ([]pipeline.Step, error) {
	var steps []pipeline.Step
	for i, op := range b.cfg.DataProcessor.ExperiencePipeline.Operators {
		s, err := pipeline.New(op.Name, op.Args)
		if err != nil {
			return nil, fmt.Errorf("data_processor.experience_pipeline.operators[%d]: %w", i, err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func seconds(s float64) time.Duration {
	return time.Duration(math.Min(s*float64(time.Second), math.MaxInt64/2))
}

// knownVersions tells the synchronizer what the job has published, and deletes what a killed process meant to.
func (b *job) knownVersions(ctx context.Context, state trainer.State) error {
	b.sync.Publish(0, b.start)
	needed := b.sync.Version(max(1, state.Position.Step))
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
