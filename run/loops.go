package run

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
)

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
	b.explored, b.steps = exploreSteps, b.totalSteps(exploreSteps)
	if err := b.knownVersions(ctx, state); err != nil {
		return err
	}
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
	if err := b.sayReplanned(state, schedule); err != nil {
		return err
	}
	if err := b.sayEntropies(ctx); err != nil {
		return err
	}
	verl := b.cfg.Verl()
	b.progress.total = b.steps
	b.trainer = trainer.New(trainer.Options{
		Name: b.cfg.Trainer.Name, JobDir: b.dir, Prefix: prefix(b.cfg), TotalSteps: b.steps, BatchSize: b.cfg.Buffer.TrainBatchSize,
		SaveInterval: b.cfg.Trainer.SaveInterval, Method: b.method, Schedule: schedule, Adam: b.adam(), Create: b.createRequest(), From: b.start, Teacher: b.teacher.request, Reference: b.reference(),
		Vocab: b.vocabulary(), Epochs: verl.Epochs, CriticEpochs: verl.CriticEpochs, Recompute: verl.Recompute,
		FS: b.fs, Durable: b.durable(), Publishes: b.publishes(ctx), Republish: b.republish,
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
		copied, err := b.copyOf(ctx, eb)
		if err != nil {
			return nil, err
		}
		q := newQueueFeed(buffer.NewQueue(eb.Capacity, seconds(eb.MaxReadTimeout)), b.sync, copied, state.Position)
		b.outlet, from = q, q
	}
	if from != nil {
		expert, err := b.openExpert(ctx, state.Position)
		b.source = &samples{feed: from, strategy: b.method.SampleStrategy, expert: expert, warn: b.progress.warn}
		return b.source, err
	}
	fs, err := b.buildFileSource(ctx, state.Position)
	if err != nil {
		return nil, err
	}
	b.steps = fs.reader.Steps()
	return fs, nil
}

// sayReplanned tells the user when steps that are trained had other learning rates than a run that is planned as long as this one would have given
// them: by warm-up ratios and decays they depend on the number of steps.
func (b *job) sayReplanned(state trainer.State, now algorithm.Schedule) error {
	if state.Planned == 0 || state.Planned == b.steps {
		return nil
	}
	o := b.cfg.Algorithm.Optimizer
	then, err := algorithm.NewSchedule(o.LR, o.MinLRRatio, o.LRWarmupSteps, o.LRWarmupStepsRatio, state.Planned, o.LRSchedulerType)
	if err != nil {
		return err
	}
	for step := 1; step <= state.Step; step++ {
		if then.At(step) != now.At(step) {
			b.noteOnce("the learning rates of steps 1 to %d are those of a run of %d steps, and from now on those of one of %d (algorithm.optimizer.lr_scheduler_type %s): "+
				"the result is not that of a run that was planned for %d", state.Step, state.Planned, b.steps, o.LRSchedulerType, b.steps)
			break
		}
	}
	return nil
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

// complete says that all planned steps are trained, and how to plan more; "" when some are left.
func (b *job) complete() string {
	if b.trainer == nil || b.steps == 0 || b.trainer.Step() < b.steps {
		return ""
	}
	key := "buffer.total_steps"
	switch n := b.cfg.Trainer.TotalSteps; {
	case n != nil && *n == b.steps && b.cfg.Buffer.TotalSteps != nil && *b.cfg.Buffer.TotalSteps == b.steps:
		key = "buffer.total_steps and trainer.total_steps"
	case n != nil && *n == b.steps:
		key = "trainer.total_steps"
	case b.cfg.Buffer.TotalSteps == nil:
		key = "buffer.total_epochs"
	}
	return fmt.Sprintf("nothing left to do: all %d steps are trained; raise %s to go on", b.steps, key)
}
