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
	"github.com/seed-d9ad8ee0/trinity/run/internal/data"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
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
func (l *loops) recoverVersions(ctx context.Context, asking record.Asking, steps int) (*synchronizer.Versions, error) {
	x, at := l.exploring, l.resumed
	v := &synchronizer.Versions{Weights: l.weights, Sync: l.sync, Start: l.Start.Sampler,
		Durable: l.Durable,
		Here:    x.explorer != nil, Over: steps > 0 && at.Step >= steps, Note: l.Notes.Add,
		Warn: l.Progress.Warn}
	v.Begin()
	if !l.Config.Mode.Trains() || !asking.Explores && !asking.Serves && l.report == nil {
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
		needed = min(needed, l.sync.Needed(x.first))
	}
	if err := v.Recover(ctx, at.Step, needed); err != nil || x.explorer == nil {
		return v, err
	}
	return v, v.Check(ctx, max(x.first, at.Position.Step), x.steps, at.Step)
}

// openTraining makes the trainer and its source.
func (l *loops) openTraining(
	ctx context.Context, versions *synchronizer.Versions, asking record.Asking, steps int,
) (t training, err error) {
	source, t, err := l.openSource(ctx, steps)
	if err != nil {
		return t, err
	}
	o, err := trainerOptions(l.Job, t.steps)
	if err != nil {
		return t, err
	}
	if err := l.noteChanges(ctx, o); err != nil {
		return t, err
	}
	t.events = &record.Trained{Monitor: l.monitor, Progress: l.Progress, Weights: l.weights,
		Keep:     l.Config.Trainer.MaxCheckpoints,
		Versions: versions, Report: l.report, Durable: l.Durable}
	if t.samples != nil {
		t.events.Sampled = &record.Sampled{Table: l.table, Kept: l.exploring.kept,
			Pending: l.exploring.pending, Asking: asking}
	}
	if l.exploring.explorer != nil && len(l.exploring.evals) > 0 {
		t.events.Final = &record.Evaluation{Step: t.steps, Explorer: l.exploring.explorer, Sync: l.sync}
	}
	t.events.Begin(l.resumed.Step)
	o.Republish = versions.Republish()
	o.Publisher = l.publisher(t.steps, t.samples)
	t.trainer = trainer.New(o, l.API, source, t.events, l.resumed.State)
	return t, nil
}

// trainerOptions returns the trainer's options, except what it publishes.
func trainerOptions(j *job.Job, steps int) (trainer.Options, error) {
	rates, err := plan.Rates(j.Config, steps)
	verl := j.Config.Verl()
	var ends []int32
	if m := j.Model; m.Tokenizer != nil {
		ends, _ = m.Ends() // for a note alone
	}
	rollouts := buffer.Rollouts{FS: j.FS, Dir: j.Dir.File("rollouts")}
	return trainer.Options{
		Name: j.Config.Trainer.Name, JobDir: j.Dir.Path, Prefix: jobdir.Prefix(j.Config), TotalSteps: steps,
		BatchSize: j.Config.Buffer.TrainBatchSize, SaveInterval: j.Config.Trainer.SaveInterval,
		Method: j.Method, Schedule: rates, Adam: plan.Adam(j.Config),
		Create: service.CreateRequest(j),
		From:   j.Start.State, Sampler: j.Start.Sampler, Teacher: j.Teacher.Request,
		Reference: referenceOf(j),
		Vocab:     service.Vocabulary(j.Model),
		Epochs:    verl.Epochs, CriticEpochs: verl.CriticEpochs, Recompute: verl.Recompute, FS: j.FS,
		Durable: j.Durable, Measured: rollouts.Measured, Ends: ends,
	}, err
}

// noteChanges tells the user what is not as the configuration makes one believe.
func (l *loops) noteChanges(ctx context.Context, o trainer.Options) error {
	note, err := plan.Changed(l.Config, l.resumed.State, o.TotalSteps, o.Schedule)
	if err != nil {
		return err
	}
	if note != "" {
		l.Notes.Add(note)
	}
	return noteEntropies(ctx, l.Job)
}

// referenceOf is the path of the weights that the loss compares with: in a later stage, as upstream has it, those
// that the stage began with; else none, which is the base model.
func referenceOf(j *job.Job) string {
	if j.Stage.State == "" {
		return ""
	}
	return j.Start.Sampler
}

// openSource makes the trainer's source, at the place where the job continues: the samples of the exchange, or a data
// set.
func (l *loops) openSource(ctx context.Context, steps int) (trainer.Source, training, error) {
	pos := l.resumed.Position
	if l.exchange == nil {
		rows, err := data.Train(ctx, l.Job, pos)
		if err != nil {
			return nil, training{}, err
		}
		return rows, training{steps: rows.Reader.Steps()}, nil
	}
	samples := &buffer.Samples{From: l.exchange, Strategy: l.Method.SampleStrategy, Warn: l.Progress.Warn}
	expert, err := data.Expert(ctx, l.Job, pos, steps)
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
	if l.Config.LoRA().Rank > 0 || l.Config.Trainer.SaveHFCheckpoint == "never" || step == 0 {
		return nil
	}
	path, err := l.weights.State(step)
	if err != nil {
		return fmt.Errorf("run: export: %w", err)
	}
	return l.Dir.Export(step, path)
}

// over says that a run which trained all its steps left samples that the plan did not reckon with; "" when it did not.
func (l *loops) over() string {
	t, made := l.training, plan.ExploreSamples(l.Config)
	if l.exploring.explorer == nil || t.samples == nil || t.trainer.Step() < t.steps {
		return ""
	}
	h, ok := t.samples.From.(*buffer.Handover)
	n := plan.TrainSamples(l.Config, l.Method)
	if !ok || h.Left() < max(0, l.exploring.steps*made-t.steps*n)+n {
		return ""
	}
	return fmt.Sprintf("%d samples were not trained: rollouts gave more than the %d of an explore step that "+
		"buffer.batch_size and algorithm.repeat_times say; raise buffer.train_batch_size (%d) to train on all of them",
		h.Left(), made, l.Config.Buffer.TrainBatchSize)
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
