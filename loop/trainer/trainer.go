// Package trainer is the loop that turns experiences into weights: it reads a batch, sends its gradient and an
// optimizer step over the seam, publishes and saves weights when they are due, and commits the step.
//
// A step is committed by writing <name>_meta.json. Everything before that is repeatable: the requests of step t have
// fixed SeqIDs, so a service that has them already only answers, and files are replaced by the same content. So after a
// kill the loop runs the interrupted step again and nothing is trained twice.
package trainer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/numbered"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Options set a Trainer up.
type Options struct {
	Name         string // of the state file
	JobDir       string
	Prefix       string // of checkpoint names
	TotalSteps   int    // 0: until the source ends
	BatchSize    int    // experiences per step
	SaveInterval int    // steps between saved states; 0: only the last
	Method       *algorithm.Method
	Schedule     algorithm.Schedule // of the learning rate
	Adam         tinker.AdamParams  // the learning rate aside
	Create       tinker.CreateModelRequest
	From         string                       // path of the state that the model begins with; empty: as Create says
	Sampler      string                       // path of weights to sample from that are those; empty: the base model
	Teacher      tinker.SamplingClientRequest // of a method that needs one
	Reference    string                       // path of the weights that a method's reference is; empty: the base model
	Vocab        int                          // token ids that the model has, for a method with a critic
	Epochs       int                          // optimizer steps on each batch; 0 is 1
	CriticEpochs int                          // the same of the critic
	// what the loss compares logprobs with is computed when the step begins, not the samplers'
	Recompute bool
	FS        disk.FS
	Notes     Notes // of state and checkpoints; nil: files in JobDir, with Name and Prefix

	// Durable says that the service keeps a model through a restart of this process. Without it the state given to New
	// must be one of State.Back.
	Durable bool
	// Republish are versions that are published first, all with the weights to begin with.
	Republish []int
	// Publisher says after which steps weights are published; nil never.
	Publisher Publisher
	// PublishFirst publishes the weights that each step begins with before the step reads its samples, and saves the
	// state there too when the interval is over. Without it both are done at the end of a step.
	PublishFirst bool
	// FinalSampler saves weights to sample from together with the final state.
	FinalSampler bool
	// LossFn is the service's loss function that computes the Method's policy loss; "" computes it here.
	LossFn string
	// Again: the steps up to this one are trained again on samples of weights that the service has lost. Their logprobs
	// are not compared with the samplers'.
	Again int
	// Measured is told the entropy of each response token, nats, [B][R], under the weights that a step began with, in
	// steps whose gradient computes it anyway on a service that knows it exactly; nil is not told.
	Measured func(step int, batch []*experience.Experience, entropies [][]float32)
	// Ends are the tokens that end an answer, for Ending.
	Ends []int32
	// CountFromZero numbers the first step 0 in errors.
	CountFromZero bool
}

// Publisher says after which steps weights are published for those that sample.
type Publisher interface {
	// Publishes is asked once in each step, when its gradient has been sent; a step that is run again must get the same
	// answer.
	Publishes(ctx context.Context, step int) (bool, error)
}

// Source gives the experiences of each step.
type Source interface {
	// Read returns the next n experiences, which are the given step's, in the same order in every run. dataset.ErrEnd
	// means that there are no more.
	Read(ctx context.Context, step, n int) ([]*experience.Experience, error)
	// Position describes what has been read, so that a restarted run can continue after it.
	Position() buffer.Position
}

// Events are told about what the loop does. Errors end the loop. Every call may come again with the same content after
// a restart.
type Events interface {
	// Published: the weights after step can be sampled at path.
	Published(ctx context.Context, step int, path string) error
	// Stepped: the step is done and about to be committed. Metrics are upstream's names.
	Stepped(ctx context.Context, step int, metrics map[string]float64, tokens int) error
	// Committed: the state is written. A restart continues after it, or on a service that is not durable after
	// state.Back().
	Committed(ctx context.Context, state State) error
}

// Trainer is the loop. It is made by New and runs once.
type Trainer struct {
	Options
	service   tinker.Service
	source    Source
	events    Events
	exact     bool // the service's samplers and trainers agree to the bit
	entropies bool // the service gives exact entropies
	silent    bool // datums without a gradient need not be sent
	client    tinker.TrainingClient
	reference tinker.SamplingClient // only if the method needs one
	teacher   tinker.SamplingClient // only if the method needs one
	critic    *critic               // only if the method needs values
	state     State
	started   time.Time // of the step under way
	ending    Ending    // of the last step
	synced    time.Time // the end of this process's last publication of a step's weights
}

// New makes a Trainer; state comes from ReadState.
func New(o Options, service tinker.Service, source Source, events Events, state State) *Trainer {
	m := *o.Method // its coefficients may change
	o.Method = &m
	if o.Notes == nil {
		o.Notes = jobNotes{o.FS, o.JobDir, o.Name, o.Prefix}
	}
	t := &Trainer{Options: o, service: service, source: source, events: events, state: state}
	t.recall()
	return t
}

// ErrInterrupted ends Run when stop ended: the step under way was finished and saved.
var ErrInterrupted = errors.New("trainer: interrupted")

// Run trains until TotalSteps or the end of the source, and saves. When stop ends it finishes the step under way,
// saves and returns ErrInterrupted. When ctx ends it stops where it is.
func (t *Trainer) Run(ctx, stop context.Context) error {
	if err := t.open(ctx); err != nil {
		return err
	}
	if t.state.Saving != 0 {
		if err := t.save(ctx); err != nil {
			return err
		}
	}
	for _, version := range t.Republish {
		f, err := t.sendWeights(ctx, version, &t.state.NextSeqID)
		if err == nil {
			err = t.publish(ctx, version, f)
		}
		if err != nil {
			return fmt.Errorf("trainer: weights of step %d: %w", version, err)
		}
	}
	for t.TotalSteps == 0 || t.state.Step < t.TotalSteps {
		if stop.Err() != nil {
			return errors.Join(t.save(ctx), ErrInterrupted)
		}
		next, err := t.beginStep(ctx)
		if err != nil {
			return t.stepError(err)
		}
		batch, err := t.read(ctx, stop)
		switch {
		case errors.Is(err, dataset.ErrEnd):
			return t.end(ctx, stop)
		case errors.Is(err, ErrInterrupted):
			return errors.Join(t.save(ctx), ErrInterrupted)
		case err != nil:
			return t.stepError(err)
		}
		if err := t.step(ctx, next, batch); err != nil {
			return t.stepError(err)
		}
	}
	return t.save(ctx)
}

// end saves at the end of the source, and publishes the last weights. A stop may also have ended what the source reads
// from: then there may be more.
func (t *Trainer) end(ctx, stop context.Context) error {
	err := t.save(ctx)
	if stop.Err() != nil {
		return errors.Join(err, ErrInterrupted)
	}
	if err != nil {
		return err
	}
	if err := t.publishLast(ctx); err != nil {
		return fmt.Errorf("trainer: weights of step %d: %w", t.state.Step, err)
	}
	return nil
}

// Step is the last committed step.
func (t *Trainer) Step() int { return t.state.Step }

// stepError names the step under way in an error.
func (t *Trainer) stepError(err error) error {
	step := t.state.Step + 1
	if t.CountFromZero {
		step--
	}
	if errors.Is(err, numbered.ErrReused) {
		return fmt.Errorf("trainer: step %d was under way when the run was stopped, and is partly trained with other "+
			"settings; start once with the former ones and press Ctrl-C, which finishes the step and saves, before "+
			"you change them, or use another name for a new job: %w", step, err)
	}
	return fmt.Errorf("trainer: step %d: %w", step, err)
}

// beginStep does what precedes the reading of samples: with PublishFirst it saves and publishes the weights that the
// step begins with. next is the state to commit, as far as the step has come.
func (t *Trainer) beginStep(ctx context.Context) (next State, err error) {
	next = t.state
	if t.critic != nil {
		t.critic.seq = next.Critic.NextSeqID
	}
	if !t.PublishFirst {
		return next, nil
	}
	if t.saveDue(next.Step) {
		if err := t.saveInterval(ctx, next.Step, &next); err != nil {
			return next, err
		}
	}
	f, err := t.sendWeights(ctx, next.Step, &next.NextSeqID)
	if err != nil {
		return next, err
	}
	return next, t.publish(ctx, next.Step, f)
}

// saveDue reports whether the state after a step is to be saved before there is a further step.
func (t *Trainer) saveDue(step int) bool {
	return t.SaveInterval > 0 && step > 0 && step%t.SaveInterval == 0
}

// saveInterval saves the state after a step and notes that in next.
func (t *Trainer) saveInterval(ctx context.Context, step int, next *State) error {
	if err := t.saveState(ctx, IntervalState, step, &next.NextSeqID); err != nil {
		return err
	}
	next.Saved, next.SavedPosition, next.SavedKLCoefs = step, t.source.Position(), t.coefs()
	return nil
}

// read reads a batch, giving up when stop ends. With PublishFirst it does not give up: the step has begun.
func (t *Trainer) read(ctx, stop context.Context) ([]*experience.Experience, error) {
	t.started = time.Now()
	if t.PublishFirst {
		return t.source.Read(ctx, t.state.Step+1, t.BatchSize)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(stop, func() { cancel(ErrInterrupted) })()
	batch, err := t.source.Read(ctx, t.state.Step+1, t.BatchSize)
	if err != nil && errors.Is(context.Cause(ctx), ErrInterrupted) {
		err = ErrInterrupted // a database says no more than that its context ended
	}
	return batch, err
}

// step trains one batch and commits it. next comes from beginStep.
func (t *Trainer) step(ctx context.Context, next State, batch []*experience.Experience) error {
	metrics := map[string]float64{"time/read_experience": time.Since(t.started).Seconds()}
	step := next.Step + 1
	begin := time.Now()
	published, err := t.update(ctx, step, &next.NextSeqID, batch, metrics)
	if err != nil {
		return err
	}
	metrics["time/train_step"] = time.Since(begin).Seconds()
	// upstream's step: without reading, publishing and saving
	metrics["perf/time_per_step"] = metrics["time/train_step"]
	if published != nil {
		if err := t.synchronize(ctx, step, published, metrics); err != nil {
			return err
		}
	}
	t.adapt(len(batch), metrics)
	if !t.PublishFirst && t.saveDue(step) {
		begin := time.Now()
		if err := t.saveInterval(ctx, step, &next); err != nil {
			return err
		}
		metrics["time/save_checkpoint"] = time.Since(begin).Seconds()
	}
	metrics["time/step"] = time.Since(t.started).Seconds()
	if err := t.events.Stepped(ctx, step, metrics, totalTokens(batch)); err != nil {
		return err
	}
	next.Step, next.Position, next.KLCoefs, next.Foreign = step, t.source.Position(), t.coefs(), false
	if t.critic != nil {
		next.Critic.NextSeqID = t.critic.seq
	}
	t.state = next
	if err := t.writeState(); err != nil {
		return err
	}
	return t.events.Committed(ctx, t.state)
}

func totalTokens(batch []*experience.Experience) int {
	n := 0
	for _, e := range batch {
		n += len(e.Tokens)
	}
	return n
}
