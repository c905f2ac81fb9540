package run

import (
	"context"
	"fmt"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/record"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
)

// training is a trainer and what it tells.
type training struct {
	trainer *trainer.Trainer
	events  *record.Trained
	samples *buffer.Samples // its source; nil: a data set
	steps   int             // in all; 0 when only the data's end tells
}

// recoverVersions finds the weights that the job has published, and deletes what a killed process meant to.
func recoverVersions(ctx context.Context, p parts, l *loops, asking record.Asking, steps int) (*synchronizer.Versions,
	error) {
	x, at := l.exploring, l.resumed
	v := &synchronizer.Versions{Weights: l.weights, Sync: l.travel.sync, Start: p.models.start.Sampler,
		Durable: p.models.service.Durable,
		Here:    x.explorer != nil, Over: steps > 0 && at.Step >= steps, Note: p.say.notes.Add,
		Warn: p.say.progress.Warn}
	v.Begin()
	if !p.cfg.Mode.Trains() || !asking.Explores && !asking.Serves && l.between.report == nil {
		return v, nil
	}
	needed, err := asking.Oldest(at.State)
	if err != nil {
		return nil, err
	}
	if at.Foreign {
		return v, v.RecoverForeign(ctx, at.Step, needed)
	}
	// perhaps the selectors learn from before: what they know was written after the trainer's state
	if x.explorer != nil {
		needed = min(needed, l.travel.sync.Needed(x.first))
	}
	if err := v.Recover(ctx, at.Step, needed); err != nil || x.explorer == nil {
		return v, err
	}
	return v, v.Check(ctx, max(x.first, at.Position.Step), x.steps, at.Step)
}

// openTraining makes the trainer and its source.
func openTraining(
	ctx context.Context, p parts, l *loops, versions *synchronizer.Versions, asking record.Asking, steps int,
) (t training, err error) {
	source, t, err := openSource(ctx, p, l.between.exchange, l.resumed.Position, steps)
	if err != nil {
		return t, err
	}
	rates, err := plan.Rates(p.cfg, t.steps)
	if err != nil {
		return t, err
	}
	if err := sayChanges(ctx, p, l.resumed.State, t.steps, rates); err != nil {
		return t, err
	}
	t.events = &record.Trained{Monitor: l.monitor, Progress: p.say.progress, Weights: l.weights,
		Keep:     p.cfg.Trainer.MaxCheckpoints,
		Versions: versions, Report: l.between.report, Durable: p.models.service.Durable}
	if t.samples != nil {
		t.events.Sampled = &record.Sampled{Table: l.between.table, Kept: l.exploring.kept,
			Pending: l.exploring.pending, Asking: asking}
	}
	if l.exploring.explorer != nil && len(l.exploring.evals) > 0 {
		t.events.Final = &record.Evaluation{Step: t.steps, Explorer: l.exploring.explorer, Sync: l.travel.sync}
	}
	t.events.Begin(l.resumed.Step)
	o := trainerOptions(p, t.steps, rates)
	o.Republish = versions.Republish()
	o.Publisher = l.travel.publisher(p.cfg, l.between.report != nil, p.staged, t.steps, t.samples)
	t.trainer = trainer.New(o, p.models.service.API, source, t.events, l.resumed.State)
	return t, nil
}

// trainerOptions are those of a configuration's trainer but for what it publishes.
func trainerOptions(p parts, steps int, rates algorithm.Schedule) trainer.Options {
	verl := p.cfg.Verl()
	var ends []int32
	if m := p.models.base; m.Tokenizer != nil {
		ends, _ = m.Ends() // for a note alone
	}
	return trainer.Options{
		Name: p.cfg.Trainer.Name, JobDir: p.folder.Path, Prefix: jobdir.Prefix(p.cfg), TotalSteps: steps,
		BatchSize: p.cfg.Buffer.TrainBatchSize, SaveInterval: p.cfg.Trainer.SaveInterval,
		Method: p.method, Schedule: rates, Adam: plan.Adam(p.cfg),
		Create: service.CreateRequest(p.cfg, p.id, p.models.base.Name, p.models.service.Durable),
		From:   p.models.start.State, Sampler: p.models.start.Sampler, Teacher: p.models.teacher.Request,
		Reference: referenceOf(p),
		Vocab:     service.Vocabulary(p.models.base),
		Epochs:    verl.Epochs, CriticEpochs: verl.CriticEpochs, Recompute: verl.Recompute, FS: p.site.FS,
		Durable: p.models.service.Durable, Measured: measured(p), Ends: ends,
	}
}

// measured keeps entropies beside the records of the samples.
func measured(p parts) func(int, []*experience.Experience, [][]float32) {
	rollouts := buffer.Rollouts{FS: p.site.FS, Dir: p.folder.File("rollouts")}
	return func(step int, batch []*experience.Experience, h [][]float32) { rollouts.Entropies(step-1, batch, h) }
}

// sayChanges tells the user what is not as the configuration makes one believe.
func sayChanges(ctx context.Context, p parts, state trainer.State, steps int, rates algorithm.Schedule) error {
	note, err := plan.Changed(p.cfg, state, steps, rates)
	if err != nil {
		return err
	}
	if note != "" {
		p.say.notes.Add(note)
	}
	return sayEntropies(ctx, p.models.service.API, p.cfg, p.method, p.site.Out)
}

// referenceOf is the path of the weights that the loss compares with: in a later stage, as upstream has it, those
// that the stage began with; else none, which is the base model.
func referenceOf(p parts) string {
	if p.stage.State == "" {
		return ""
	}
	return p.models.start.Sampler
}

// openSource makes the trainer's source, at the place where the job continues: the samples of the exchange, or a data
// set.
func openSource(
	ctx context.Context, p parts, from buffer.Exchange, pos buffer.Position, steps int,
) (trainer.Source, training, error) {
	if from == nil {
		rows, err := p.data().Train(ctx, pos)
		if err != nil {
			return nil, training{}, err
		}
		return rows, training{steps: rows.Reader.Steps()}, nil
	}
	samples := &buffer.Samples{From: from, Strategy: p.method.SampleStrategy, Warn: p.say.progress.Warn}
	expert, err := p.data().Expert(ctx, pos, steps)
	if err != nil {
		return nil, training{}, err
	}
	if expert != nil {
		samples.Expert = buffer.DataSet{Examples: expert}
	}
	return samples, training{samples: samples, steps: steps}, nil
}

// exportModel copies the weights that a full-parameter run saved to where upstream puts a model. Adapters stay in
// their checkpoint.
func (l *loops) exportModel() error {
	step := l.training.trainer.Step()
	if l.cfg.LoRA().Rank > 0 || l.cfg.Trainer.SaveHFCheckpoint == "never" || step == 0 {
		return nil
	}
	path, err := l.weights.State(step)
	if err != nil {
		return fmt.Errorf("run: export: %w", err)
	}
	from, err := engine.CheckpointFolder(l.folder.Checkpoints(), path)
	if err != nil {
		return fmt.Errorf("run: export: %w", err)
	}
	return l.folder.ExportModel(step, from)
}

// over says that a run which trained all its steps left samples that the plan did not reckon with; "" when it did not.
func (l *loops) over() string {
	t, made := l.training, plan.ExploreSamples(l.cfg)
	if l.exploring.explorer == nil || t.samples == nil || t.trainer.Step() < t.steps {
		return ""
	}
	h, ok := t.samples.From.(*buffer.Handover)
	n := plan.TrainSamples(l.cfg, l.method)
	if !ok || h.Left() < max(0, l.exploring.steps*made-t.steps*n)+n {
		return ""
	}
	return fmt.Sprintf("%d samples were not trained: rollouts gave more than the %d of an explore step that "+
		"buffer.batch_size and algorithm.repeat_times say; raise buffer.train_batch_size (%d) to train on all of them",
		h.Left(), made, l.cfg.Buffer.TrainBatchSize)
}

// short says why a run that is done trained fewer steps than were planned; "" when it did not.
func (t training) short(cfg *config.Config) string {
	trained := t.trainer.Step()
	if trained > 0 && trained >= t.steps {
		return ""
	}
	what := "ended after step " + strconv.Itoa(trained) + " of " + strconv.Itoa(t.steps)
	if t.steps == 0 {
		what = "ended, and no step was trained"
	}
	if t.samples == nil {
		return fmt.Sprintf("%s: the data has no more batches of %d (buffer.train_batch_size)", what,
			cfg.Buffer.TrainBatchSize)
	}
	return what + ": " + t.samples.LeftOver(cfg.Buffer.TrainBatchSize, cfg.Mode != config.ServeTrain)
}
