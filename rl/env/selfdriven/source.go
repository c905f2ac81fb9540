// Package selfdriven plays programs that drive their own loop as env.Env, so that trainers that drive theirs can train
// on them: environments of verifiers (package rl/verifiers), or any other workflow.Carrying.
//
// An episode runs at a rollout URL. Each call of the model there is an observation: the text of the call's prompt in
// the model's own chat template. The player's answer answers the call, and the next call, or the end, follows. So calls
// are played in order, one at a time, and an episode with calls of several agents is refused. The reward comes with the
// end. An episode that fails, or ends without a call or a reward, is an error and never a reward of 0.
//
// A seed names a task. Two episodes of one task are begun to find out whether the task decides how an episode begins.
package selfdriven

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Options set a Source up. Note, Failed and Random may be nil; all else is needed.
type Options struct {
	ID       string            // of the environment, for messages
	Carrying workflow.Carrying // runs an episode
	Tasks    *dataset.Source   // a row each
	Rollouts workflow.Rollouts
	URL      func() (string, error) // of Rollouts
	Close    func() error           // ends Rollouts
	Model    string                 // its name; policy is a name of it too
	Params   tinker.SamplingParams
	Random   []string          // answers of the random player
	Note     func(text string) // tells the user findings
	Failed   func(err error)   // is told of each failed episode
}

// Source makes environments of one id. Any number of goroutines may use it. Close it.
type Source struct {
	o   Options
	ctx context.Context
	end context.CancelCauseFunc

	mu    sync.Mutex
	begun int
	wait  sync.WaitGroup // of episodes

	once sync.Once
	spec env.Spec
	err  error
}

// errClosed ends episodes in progress.
var errClosed = errors.New("selfdriven: the environment is closed")

// New returns a Source. Calls end with ctx.
func New(ctx context.Context, o Options) *Source {
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	if o.Random == nil {
		o.Random = []string{"yes", "no"}
	}
	s := &Source{o: o}
	s.ctx, s.end = context.WithCancelCause(ctx)
	return s
}

// Close ends the episodes in progress, waits for them and ends Options.Rollouts.
func (s *Source) Close() error {
	s.end(errClosed)
	s.mu.Lock() // no episode begins now
	defer s.mu.Unlock()
	s.wait.Wait()
	return s.o.Close()
}

// Spec begins two episodes of the first task, to see that the environment works and whether a task decides how an
// episode begins, and returns its line of the registry. See env.Finder.
func (s *Source) Spec() (env.Spec, error) {
	s.once.Do(func() { s.spec, s.err = s.describe() })
	return s.spec, s.err
}

func (s *Source) describe() (env.Spec, error) {
	n := s.o.Tasks.Len()
	if n == 0 {
		return env.Spec{}, fmt.Errorf("env: %s has no tasks", s.o.ID)
	}
	var first [2]string
	for i := range first {
		e := &Env{source: s, task: 0}
		o, err := e.Reset(0)
		if err != nil {
			return env.Spec{}, err
		}
		e.leave()
		first[i] = o.Text
	}
	spec := env.Spec{ID: s.o.ID, Params: env.Params{"task": env.Drawn}, Tasks: n, Unsteady: first[0] != first[1],
		New: func(p env.Params) (env.Env, error) {
			if t := p["task"]; t != env.Drawn && (t < 0 || t >= n) {
				return nil, fmt.Errorf("task is %d; it must be 0 to %d", t, n-1)
			}
			return &Env{source: s, task: p["task"]}, nil
		}}
	if spec.Unsteady {
		s.o.Note(fmt.Sprintf("%s: two episodes of one task begin in different ways, so every episode of a "+
			"group (grpo) is started separately. Let the environment draw everything from its task to compare like "+
			"with like", s.o.ID))
	}
	return spec, nil
}

// begin starts an episode.
func (s *Source) begin(index int) (*episode, error) {
	row, err := s.o.Tasks.Row(index)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := context.Cause(s.ctx); err != nil {
		return nil, err
	}
	url, err := s.o.URL()
	if err != nil {
		return nil, err
	}
	e := newEpisode(s.ctx)
	limits := s.o.Carrying.Limits()
	limits.Models = append([]string{s.o.Model, "policy"}, limits.Models...)
	name := fmt.Sprintf("%d-%d", s.begun, index)
	s.begun++
	offered, err := s.o.Rollouts.Open(workflow.Opening{Name: name, Row: row, Player: e.ask, Params: s.o.Params,
		Private: true, Limits: limits})
	if err != nil {
		return nil, err
	}
	work := workflow.Work{ID: offered.ID(), URL: url + "/rollouts/" + offered.ID() + "/v1", Model: s.o.Model,
		Params: s.o.Params, Task: workflow.Task{Batch: "gem", ID: name, Row: row}, Seed: uint64(index)}
	s.wait.Go(func() {
		parts, err := s.o.Carrying.Carry(e.ctx, work)
		offered.Close()
		e.finish(parts, err)
	})
	return e, nil
}
