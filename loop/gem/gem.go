// Package gem is the loop that plays environments with a model and trains it on what it played: the trainer of GEM over the
// Tinker API, with its configuration of key=value pairs. Config lists the keys, Trainer.Run is the loop.
//
// Step s samples episodes with the weights that s updates made, scores every turn, and sends one gradient and one optimizer
// step. A step is committed by writing gem_state.json. Everything before that is repeatable: requests have fixed SeqIDs, so a service
// that has them already only answers; a finished episode is stored before the next step of anything; files are replaced by the same
// content. So after a kill the loop runs the interrupted step again, and nothing is trained or sampled twice.
package gem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Tokenizer turns text into tokens and back; tokenizer.Tokenizer is one.
type Tokenizer interface {
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
	Tokens  Tokenizer
	FS      disk.FS
	LogDir  string         // of metrics.jsonl
	Record  monitor.Config // what else is recorded, and under which names; where and since when is the Trainer's matter
	Out     io.Writer      // progress
	Color   bool
	Now     func() time.Time

	// Durable says that the service keeps a model through a restart of this process. Without it a restart may have to go back to
	// the last saved state.
	Durable bool
}

// Trainer is the loop. It is made by New and runs once.
type Trainer struct {
	Options
	player  Player // with the weights of the step under way
	exact   bool   // the service's samplers and trainers agree to the bit
	client  tinker.TrainingClient
	state   state
	behind  int // steps before this one are trained again, on episodes of weights that are gone
	store   *buffer.Store
	monitor *monitor.Monitor
	begun   time.Time // the steps of this process
	first   int       // of them
}

// role is whose metrics the monitor gets.
const role = "gem"

// ErrInterrupted ends Run when stop was closed: the step under way was finished and saved.
var ErrInterrupted = errors.New("gem: interrupted")

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
	return &Trainer{Options: o, player: Player{Tokens: o.Tokens, Template: template, MaxTokens: c.MaxTokens, Temperature: c.Temperature, Seed: uint64(c.Seed)}}, nil
}

// Run trains up to max_steps and saves. When stop is closed it finishes the step under way, saves and returns ErrInterrupted. When
// ctx ends it stops where it is.
func (t *Trainer) Run(ctx context.Context, stop <-chan struct{}) (err error) {
	if err := t.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.store.Close(), t.monitor.Close()) }()
	if t.state.Saving != 0 {
		if err := t.finish(ctx); err != nil {
			return err
		}
	}
	t.plan()
	for t.state.Step < t.Config.MaxSteps {
		select {
		case <-stop:
			return errors.Join(t.finish(ctx), ErrInterrupted)
		default:
		}
		if err := t.step(ctx, t.state.Step); err != nil {
			return fmt.Errorf("gem: step %d: %w", t.state.Step, err)
		}
	}
	if err := t.finish(ctx); err != nil {
		return err
	}
	t.monitor.Finish()
	return nil
}

// Step is the number of committed steps.
func (t *Trainer) Step() int { return t.state.Step }

// step is one policy iteration.
func (t *Trainer) step(ctx context.Context, step int) error {
	c, m, next := &t.Config, monitor.Metrics{}, t.state
	t.heading(step)
	if c.Metrics && c.SaveEvery > 0 && step > 0 && step%c.SaveEvery == 0 {
		if _, err := t.save(ctx, &next, Checkpoint{Name: checkpointName(step), PolicyStep: step, Updates: step}, false); err != nil {
			return err
		}
	}
	if err := t.publish(ctx, &next, checkpointName(step)); err != nil {
		return err
	}
	if c.evaluates(step) {
		if err := t.evaluate(ctx, t.player.Sampler, m); err != nil {
			return err
		}
	}
	t.say("🎲 Start collecting episodes at step %d", step)
	begin := time.Now()
	episodes, failed, err := t.collect(ctx, step)
	if err != nil {
		return err
	}
	t.printEpisodes(episodes)
	turns := t.score(step, episodes)
	m["time/sample"] = time.Since(begin).Seconds()
	episodeMetrics(m, episodes, failed)
	t.say("🎈 Start training at step %d", step)
	begin = time.Now()
	if err := t.update(ctx, step, &next, turns, m); err != nil {
		return err
	}
	m["time/train"] = time.Since(begin).Seconds()
	return t.commit(ctx, step, next, m)
}

// commit writes the step's line of metrics and then its state; what was kept in case the step had to be repeated goes.
func (t *Trainer) commit(ctx context.Context, step int, next state, m monitor.Metrics) error {
	if t.Config.Metrics {
		t.printMetrics(step, m)
	}
	t.monitor.Add(step, role, m)
	if _, err := t.monitor.Commit(step); err != nil {
		return err
	}
	next.Step = step + 1
	if err := t.commitState(next); err != nil {
		return err
	}
	if err := t.retire(ctx); err != nil {
		return err
	}
	t.left()
	last := step
	if !t.Durable {
		last = min(step, t.state.Saved.Step-1) // the others may have to be trained again
	}
	return t.store.Drop(last)
}

// Turns is one episode: its turns in order.
type Turns []*experience.Experience

// Return is the sum of an episode's rewards.
func (e Turns) Return() float64 {
	sum := 0.0
	for _, turn := range e {
		sum += turn.RewardOr(0)
	}
	return sum
}
