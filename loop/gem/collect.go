package gem

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"math"
)

// emptyRounds is how many rounds without a single episode end a run.
const emptyRounds = 3

// spent is how long the episodes of a step took, in nanoseconds, summed over them.
type spent struct {
	playing, inside atomic.Int64 // inside of steps of environments
}

// into adds the means over n episodes and begins anew; a step whose episodes are all from before a restart has none.
func (s *spent) into(m monitor.Metrics, n int) {
	playing, inside := s.playing.Swap(0), s.inside.Swap(0)
	if playing > 0 && n > 0 {
		m["time/episode"] = float64(playing) / 1e9 / float64(n)
		m["time/environment"] = float64(inside) / 1e9 / float64(n)
	}
}

// source gives the trainer the turns of each step. It implements trainer.Source.
type source struct{ *Trainer }

// Read implements trainer.Source. The trainer's step n is the run's step n-1.
func (t source) Read(ctx context.Context, step, _ int) ([]*experience.Experience, error) {
	t.say("🎲 Start collecting episodes at step %d", step-1)
	episodes, failed, err := t.collect(ctx, step-1)
	if err != nil {
		return nil, err
	}
	t.printEpisodes(episodes)
	turns := t.score(step-1, episodes)
	if err := t.write(step-1, episodes); err != nil {
		return nil, err
	}
	episodeMetrics(t.metrics, episodes, failed)
	t.spent.into(t.metrics, len(episodes))
	t.say("🎈 Start training at step %d", step-1)
	return turns, nil
}

// Position implements trainer.Source: a step's number says all.
func (source) Position() buffer.Position { return buffer.Position{} }

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

// collect plays rounds of num_env episodes until they have batch_size turns. Episodes come in order of round and slot,
// whatever order they end in. One with a failed sample is dropped and counted.
func (t *Trainer) collect(ctx context.Context, step int) (episodes []Turns, failed int, err error) {
	stored, err := t.resumeEpisodes(step)
	if err != nil {
		return nil, 0, err
	}
	defer t.busy("training in step %d", step)
	turns, empty := 0, 0
	for round := 0; turns < t.Config.BatchSize; round++ {
		t.busy("playing in step %d: %d of %d turns", step, turns, t.Config.BatchSize)
		played, lost, err := t.round(ctx, step, round, stored)
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		if errors.Is(err, errRecord) || errors.Is(err, tinker.ErrClosed) {
			return nil, 0, err
		}
		if failed += lost; err != nil {
			t.say("%d of %d episodes failed, for instance: %v", lost, t.Config.NumEnv, err)
		}
		if empty++; len(played) > 0 {
			empty = 0
		}
		if empty == emptyRounds {
			return nil, 0, fmt.Errorf("%d rounds of %d episodes failed, the last time so: %w", empty, t.Config.NumEnv,
				err)
		}
		episodes = append(episodes, played...)
		for _, e := range played {
			turns += len(e)
		}
	}
	return episodes, failed, nil
}

// resumeEpisodes returns the stored episodes of a step. Those of rounds that ended an earlier process are forgotten and
// will be played again, for whatever made them fail may be mended by now.
func (t *Trainer) resumeEpisodes(step int) (map[string]buffer.Record, error) {
	stored, err := t.store.Resume(step, func(text string) { t.say("%s", text) })
	if err != nil {
		return nil, err
	}
	failed := t.endingRounds(stored)
	for _, name := range failed {
		delete(stored, name)
	}
	return stored, t.store.Forget(step, failed)
}

// endingRounds names the slots of emptyRounds rounds in a row without an episode, nil if there are none such. A process
// that was killed before them, or during them, has left no more than some of them.
func (t *Trainer) endingRounds(stored map[string]buffer.Record) (names []string) {
	for round := 0; len(names) < emptyRounds*t.Config.NumEnv; round++ {
		turns := 0
		for i := range t.Config.NumEnv {
			name := slot{round: round, index: i}.name()
			r, ok := stored[name]
			if !ok {
				return nil
			}
			turns += len(r.Experiences)
			names = append(names, name)
		}
		if turns > 0 {
			names = nil
		}
	}
	return names
}

// errRecord marks the failure of what must not fail: episodes are kept, or the run ends.
var errRecord = errors.New("an episode could not be stored")

// slot is one episode of a round, and what its draws are named by.
type slot struct {
	step, round, index int
	begin              func() (opened, error)
}

func (s slot) name() string { return strconv.Itoa(s.round) + "/" + strconv.Itoa(s.index) }

// round plays one episode in each slot. err is one of the failures, if there were any.
func (t *Trainer) round(ctx context.Context, step, round int,
	stored map[string]buffer.Record) (episodes []Turns, failed int, err error) {
	all := make([]Turns, t.Config.NumEnv)
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, s := range t.slots(ctx, step, round) {
		if r, ok := stored[s.name()]; ok {
			all[i] = r.Experiences
			continue
		}
		wait.Go(func() { all[i], errs[i] = t.keep(ctx, s) })
	}
	wait.Wait()
	for i, e := range all {
		if errs[i] != nil && !errors.Is(err, errRecord) {
			err = errs[i]
		}
		if len(e) == 0 {
			failed++
			continue
		}
		episodes = append(episodes, e)
	}
	return episodes, failed, err
}

// keep plays an episode and stores it. A failed one is stored as an empty record, so that a restart counts it the same.
func (t *Trainer) keep(ctx context.Context, s slot) (Turns, error) {
	o, err := s.begin()
	var turns Turns
	if err == nil {
		turns, err = t.play(ctx, o, s)
	}
	if ctx.Err() != nil || errors.Is(err, tinker.ErrClosed) {
		return nil, err // the end of the process is not a failure of the episode
	}
	if serr := t.store.Put(buffer.Record{Step: s.step, Task: s.name(), Experiences: turns}); serr != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, serr)
	}
	return turns, err
}

// play plays an episode to its end. Whatever fails loses all of it.
func (t *Trainer) play(ctx context.Context, o opened, s slot) (Turns, error) {
	var turns Turns
	total := 0.0
	retells := env.Retells(t.Config.EnvWrappers)
	begin := time.Now()
	defer func() { t.spent.playing.Add(int64(time.Since(begin))) }()
	for {
		known := len(o.seq.Tokens)
		turn, continues, err := t.policy.Answer(ctx, &o.seq, o.obs, "sample", s.step, s.round, s.index, len(turns))
		if err != nil {
			return nil, err
		}
		asked := time.Now()
		next, err := o.env.Step(t.policy.Action(turn.Response))
		t.spent.inside.Add(int64(time.Since(asked)))
		if err != nil {
			return nil, err
		}
		x := turn.Experience(experience.EID{Batch: strconv.Itoa(s.step), Task: s.name(), Step: len(turns)})
		x.SetReward(next.Reward)
		if total += math.Abs(next.Reward); !(total <= experience.MaxReturn) {
			return nil, fmt.Errorf("the environment gave reward %v; the rewards of an episode must be finite numbers "+
				"that add up to at most %v", next.Reward, experience.MaxReturn)
		}
		x.Info.ModelVersion = s.step
		if turn.Stop == experience.StopLength {
			x.TruncateStatus = experience.ResponseTruncated
		}
		if o.obs.Suffix != "" {
			x.Note = &experience.Note{Board: o.obs.Suffix}
		}
		t.measure(x, retells && known > 0 && !continues)
		turns = append(turns, x)
		if next.Done() {
			return turns, nil
		}
		o.obs = next.Observation
	}
}

// Metrics of a turn. They are there only where they are 1.
const (
	outOfRoom   = "out_of_room"  // the model's context ended the answer
	newSequence = "new_sequence" // the model read its earlier actions in another form than it had sampled them in
)

// measure notes what the metrics count of a turn.
func (t *Trainer) measure(x *experience.Experience, anew bool) {
	full := x.TruncateStatus == experience.ResponseTruncated && x.ResponseLength() < t.Config.MaxTokens
	for name, is := range map[string]bool{outOfRoom: full, newSequence: anew} {
		if is && x.Metrics == nil {
			x.Metrics = map[string]float64{}
		}
		if is {
			x.Metrics[name] = 1
		}
	}
}
