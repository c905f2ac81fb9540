package run

import (
	"context"
	"fmt"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/record"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// followed reports whether an explorer of another process may sample what this one trains.
func (l *loops) followed(cfg *config.Config) bool { return cfg.Mode == config.Train && l.table != nil }

// recover finds the weights that the job has published, and deletes what a killed process meant to.
func (l *loops) recover(ctx context.Context, b *job, asking record.Asking) (*synchronizer.Versions, error) {
	v := &synchronizer.Versions{Weights: l.weights, Sync: l.travel.sync, Start: b.startSampler, Durable: b.durable(),
		Here: l.explorer != nil, Over: l.steps > 0 && l.state.Step >= l.steps, Note: b.note, Warn: b.progress.Warn}
	v.Begin()
	if !b.cfg.Mode.Trains() || !asking.Explores && !asking.Serves && !l.followed(b.cfg) {
		return v, nil
	}
	needed, err := asking.Oldest(l.state)
	if err != nil {
		return nil, err
	}
	if l.state.Foreign {
		return v, v.RecoverForeign(ctx, l.state.Step, needed)
	}
	if l.explorer != nil { // perhaps the selectors learn from before: what they know was written after the trainer's state
		needed = min(needed, l.travel.sync.Needed(l.first))
	}
	if err := v.Recover(ctx, l.state.Step, needed); err != nil || l.explorer == nil {
		return v, err
	}
	return v, v.Check(ctx, max(l.first, l.state.Position.Step), l.exploring.steps, l.state.Step)
}

// openTrainer makes the trainer and its source.
func (l *loops) openTrainer(ctx context.Context, b *job, versions *synchronizer.Versions, sampled *record.Sampled) error {
	source, err := l.openSource(ctx, b)
	if err != nil {
		return err
	}
	rates, err := ratesOf(b.cfg, l.steps)
	if err != nil {
		return err
	}
	note, err := replanned(b.cfg, l.state, l.steps, rates)
	if err != nil {
		return err
	}
	if note != "" {
		b.note(note)
	}
	if err := sayEntropies(ctx, b.service, b.cfg, b.method, b.Out); err != nil {
		return err
	}
	l.events = &record.Trained{Monitor: l.monitor, Progress: b.progress, Weights: l.weights, Keep: b.cfg.Trainer.MaxCheckpoints,
		Versions: versions, Report: l.report, Durable: b.durable()}
	if l.samples != nil {
		l.events.Sampled = sampled
	}
	if l.explorer != nil && len(l.evals) > 0 {
		l.events.Final = &record.Evaluation{Step: l.steps, Explorer: l.explorer, Sync: l.travel.sync}
	}
	l.events.Begin(l.state.Step)
	verl := b.cfg.Verl()
	l.trainer = trainer.New(trainer.Options{
		Name: b.cfg.Trainer.Name, JobDir: b.dir, Prefix: jobdir.Prefix(b.cfg), TotalSteps: l.steps,
		BatchSize: b.cfg.Buffer.TrainBatchSize, SaveInterval: b.cfg.Trainer.SaveInterval,
		Method: b.method, Schedule: rates, Adam: adamOf(b.cfg),
		Create: b.createRequest(), From: b.start, Teacher: b.teacher.request, Reference: referenceOf(b), Vocab: b.vocabulary(),
		Epochs: verl.Epochs, CriticEpochs: verl.CriticEpochs, Recompute: verl.Recompute,
		FS: b.fs, Durable: b.durable(), Republish: versions.Republish(),
		Publisher: l.travel.publisher(b.cfg, l.followed(b.cfg), b.staged, l.steps, l.samples),
	}, b.service, source, l.events, l.state)
	return nil
}

// referenceOf is the path of the weights that the loss compares with: in a later stage, as upstream has it, those that the stage began with;
// else none, which is the base model.
func referenceOf(b *job) string {
	if b.stage.State == "" {
		return ""
	}
	return b.startSampler
}

// openSource makes the trainer's source, at the place where the job continues: the samples of the exchange, or a data set.
func (l *loops) openSource(ctx context.Context, b *job) (trainer.Source, error) {
	if l.exchange == nil {
		fs, err := b.buildFileSource(ctx, l.state.Position)
		if err != nil {
			return nil, err
		}
		l.steps = fs.Reader.Steps()
		b.steps = l.steps
		return fs, nil
	}
	l.samples = &buffer.Samples{From: l.exchange, Strategy: b.method.SampleStrategy, Warn: b.progress.Warn}
	expert, err := b.openExpert(ctx, l.state.Position)
	if err != nil {
		return nil, err
	}
	if expert != nil {
		l.samples.Expert = buffer.DataSet{Examples: expert}
	}
	return l.samples, nil
}

// exportModel copies the weights that a full-parameter run saved to where upstream puts a model. Adapters stay in their checkpoint.
func (l *loops) exportModel(b *job) error {
	step := l.trainer.Step()
	if b.cfg.LoRA().Rank > 0 || b.cfg.Trainer.SaveHFCheckpoint == "never" || step == 0 {
		return nil
	}
	path, err := l.weights.State(step)
	if err != nil {
		return fmt.Errorf("run: export: %w", err)
	}
	from, err := b.engine.Folder(path)
	if err != nil {
		return fmt.Errorf("run: export: %w", err)
	}
	return b.folder().ExportModel(step, from)
}

// short says why a run that is done trained fewer steps than were planned; "" when it did not.
func (l *loops) short(cfg *config.Config) string {
	trained := l.trainer.Step()
	if trained > 0 && trained >= l.steps {
		return ""
	}
	what := "ended behind step " + strconv.Itoa(trained) + " of " + strconv.Itoa(l.steps)
	if l.steps == 0 {
		what = "ended, and no step was trained"
	}
	if l.samples == nil {
		return fmt.Sprintf("%s: the data has no more batches of %d (buffer.train_batch_size)", what, cfg.Buffer.TrainBatchSize)
	}
	return what + ": " + l.samples.LeftOver(cfg.Buffer.TrainBatchSize, cfg.Mode != config.ServeTrain)
}
