// Package gem trains a model on environments as the trainer of GEM (arXiv 2510.01051) does over the Tinker API, with
// its configuration of key=value pairs. Config lists the keys.
//
// The loop is package trainer's. This package gives it the samples of each step (collect, score), the place and format
// of state and checkpoints (notes), and what is recorded (events). Step s samples with the weights that s updates made.
// Finished episodes are stored, so that a step that is run again after a kill samples nothing twice.
package gem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Tokenizer turns text into tokens and back; tokenizer.Tokenizer is one.
type Tokenizer interface {
	rollout.Tokenizer
	Encode(text string, addSpecial bool) []int32
	Decode(tokens []int32, skipSpecial bool) string
}

// Options set a Trainer up.
type Options struct {
	Config  Config
	Dir     string // the save path
	Service tinker.Service
	Create  tinker.CreateModelRequest
	Make    func() (env.Env, error) // a new environment with its wrappers
	// Unsteady says that seeds do not decide how episodes begin: each is reset on its own, in a group too.
	Unsteady bool
	Tokens   Tokenizer
	Context  int // tokens that the model can read and write in all; 0: not known
	FS       disk.FS
	LogDir   string         // of metrics.jsonl
	Record   monitor.Config // what else is recorded, and under which names; the Trainer sets where and since when
	Out      io.Writer      // progress
	Color    bool
	Busy     *console.Busy // told what the run is busy with; nil: nobody is
	Now      func() time.Time

	// Durable says that the service keeps a model through a restart of this process. Without it a restart may have to
	// go back to the last saved state.
	Durable bool
}

// Trainer trains a model on an environment. It is made by New and runs once.
type Trainer struct {
	Options
	policy  Policy // with the weights of the step under way
	store   *buffer.Store
	monitor *monitor.Monitor
	notes   *notes
	metrics monitor.Metrics // of the step under way
	spent   spent           // the same
	done    int             // committed steps
	begun   time.Time       // the steps of this process
	first   int             // of them
}

// role is whose metrics the monitor gets.
const role = "gem"

// New makes a Trainer.
func New(o Options) (*Trainer, error) {
	if err := o.Config.Validate(); err != nil {
		return nil, err
	}
	template, err := env.TemplateOf(o.Config.Template)
	if err != nil {
		return nil, err
	}
	c := &o.Config
	if o.Unsteady && c.Method == "grpo" && c.ForkTurn > 0 {
		return nil, fmt.Errorf("gem: fork_turn=%d: the environment ignores seeds, so its episodes cannot have their "+
			"first turns in common; set fork_turn=0, or method=reinforce", c.ForkTurn)
	}
	return &Trainer{Options: o, metrics: monitor.Metrics{}, policy: Policy{Tokens: o.Tokens, Template: template,
		MaxTokens: c.MaxTokens, Temperature: c.Temperature, Seed: uint64(c.Seed), Context: o.Context}}, nil
}

// Step is the number of committed steps.
func (t *Trainer) Step() int { return t.done }

// Run trains up to max_steps and saves. When stop ends it finishes the step under way, saves and returns
// trainer.ErrInterrupted. When ctx ends it stops where it is.
func (t *Trainer) Run(ctx, stop context.Context) (err error) {
	state, again, err := t.resume()
	if err != nil {
		return err
	}
	if err := t.open(state); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.store.Close(), t.monitor.Close()) }()
	t.plan()
	if t.Config.MaxSteps > 0 {
		if err := t.loop(state, again).Run(ctx, stop); err != nil {
			return err
		}
	}
	if err := t.evaluateResult(ctx); err != nil {
		return err
	}
	t.monitor.Finish()
	return nil
}

// resume reads the state to continue from. On a service that does not keep models that is the last saved one; then the
// steps up to again are trained again, on the stored episodes.
func (t *Trainer) resume() (state trainer.State, again int, err error) {
	if t.notes, state, err = openNotes(t.FS, t.Dir); err != nil {
		return state, 0, err
	}
	if !t.Durable && state.ModelID != "" {
		again, state = state.Step, state.Back()
		fmt.Fprintf(t.Out, "note: the service does not keep models; continuing after step %d\n", state.Step)
	}
	if t.done = state.Step; Begun(t.Dir) {
		return state, again, nil
	}
	return state, again, t.notes.Write(state)
}

// open opens what the run writes to, cut back to the state.
func (t *Trainer) open(s trainer.State) (err error) {
	if t.store, err = buffer.OpenStore(filepath.Join(t.Dir, "episodes"), t.FS); err != nil {
		return err
	}
	last := s.Step - 1
	if s.Step >= t.Config.MaxSteps && s.Saved == s.Step && s.Saving == 0 {
		last = s.Step // the line of the evaluation at the end
	}
	record := t.Record
	record.Dir, record.Keep, record.Now, record.Roles = t.LogDir, last, t.Now, []string{role}
	if t.monitor, err = monitor.OpenOn(t.FS, record); err != nil {
		return errors.Join(err, t.store.Close())
	}
	if err := t.store.Drop(s.Step - 1); err != nil {
		return errors.Join(err, t.store.Close(), t.monitor.Close())
	}
	return nil
}

// loop makes the loop with GEM's optimizer. The service computes the loss, importance sampling.
func (t *Trainer) loop(s trainer.State, again int) *trainer.Trainer {
	c := &t.Config
	interval := 0
	if c.Metrics {
		interval = c.SaveEvery
	}
	return trainer.New(trainer.Options{
		TotalSteps: c.MaxSteps, BatchSize: c.BatchSize, SaveInterval: interval, Create: t.Create,
		Method: &algorithm.Method{Name: c.Method, Schema: "experience", Objective: algorithm.Objective{
			Policy: algorithm.ImportanceSampling()}},
		LossFn:   tinker.ImportanceSampling,
		Schedule: algorithm.Schedule{LR: c.LearningRate},
		Adam:     tinker.AdamParams{Beta1: 0.9, Beta2: 0.95, Eps: 1e-8},
		FS:       t.FS, Notes: t.notes, Durable: t.Durable, Again: again,
		PublishFirst: true, FinalSampler: true, CountFromZero: true,
	}, t.Service, source{t}, events{t}, s)
}
