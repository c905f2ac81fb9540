package workflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/env"
	"github.com/seed-d9ad8ee0/trinity/experience"
	"github.com/seed-d9ad8ee0/trinity/internal/spell"
	"github.com/seed-d9ad8ee0/trinity/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Gem plays episodes of an environment. A task is the state that all its repetitions begin in: that of the seed which the row's
// number names. workflow_args are
//
//	env_id     the environment
//	wrappers   around it, innermost first, separated by commas ("concat")
//	template   around an observation: qwen3_game, qwen3_general or no ("qwen3_game")
//	max_turns  of an episode, instead of the environment's own
//	gamma      discount of returns (0.9)
//	data_dir   a folder with upstream's words and clues, or an encyclopedia; whoever makes Rollout.Environments reads it
//
// An experience is one turn, as a model sees it, with its discounted return as reward. Each repetition gives one: a turn of its
// episode drawn at random, so that every task has as many experiences as the loops count on and every episode weighs the same in
// the metrics: accuracy (a return of 1 or more), episode_return and num_turns.
type Gem struct{}

// gemArgs are the workflow_args read.
type gemArgs struct {
	id       string
	params   env.Params
	wrappers []env.Wrapper
	template env.Template
	gamma    float64
}

func readGemArgs(r *Rollout) (a gemArgs, err error) {
	names, template := "concat", env.GameTemplate
	a.gamma = 0.9
	for _, key := range slices.Sorted(maps.Keys(r.Args)) {
		ok := true
		switch value := r.Args[key]; key {
		case "env_id":
			a.id, ok = value.(string)
		case "wrappers":
			names, ok = value.(string)
		case "template":
			template, ok = value.(string)
		case "max_turns":
			var n float64
			n, ok = number(value)
			ok = ok && n >= 1 && n == float64(int(n))
			a.params = env.Params{"max_turns": int(n)}
		case "gamma":
			a.gamma, ok = number(value)
			ok = ok && a.gamma >= 0 && a.gamma <= 1
		case "data_dir":
			_, ok = value.(string)
		default:
			return a, fmt.Errorf("workflow: gem_workflow: workflow_args.%w",
				spell.UnknownArgument(key, []string{"env_id", "wrappers", "template", "max_turns", "gamma", "data_dir"}))
		}
		if !ok {
			return a, fmt.Errorf("workflow: gem_workflow: workflow_args.%w",
				&spell.Argument{Name: key, Text: fmt.Sprintf("is %v, which does not do", r.Args[key])})
		}
	}
	if r.Environments == nil {
		return a, errors.New("workflow: gem_workflow was given no environments")
	}
	if a.wrappers, err = env.Wrappers(names, r.Chat); err != nil {
		return a, err
	}
	if a.template, err = env.TemplateOf(template); err != nil {
		return a, err
	}
	_, err = r.Environments.Make(a.id, a.params)
	return a, err
}

// number reads a YAML number.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	}
	return 0, false
}

// Run implements Workflow.
func (Gem) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	a, err := readGemArgs(r)
	if err != nil {
		return nil, tinker.Userf("%w", err)
	}
	first, err := r.Environments.Make(a.id, a.params)
	if err != nil {
		return nil, err
	}
	first = env.Wrap(first, a.wrappers...)
	seed := rng.New(uint64(t.Index)).Stream("environment")
	obs, err := first.Reset(seed.Uint64())
	if err != nil {
		return nil, err
	}
	list, errs := make([]*experience.Experience, t.Repeat), make([]error, t.Repeat)
	var wait sync.WaitGroup
	for i := range list {
		e := first.Fork()
		wait.Go(func() { list[i], errs[i] = a.episode(ctx, r, t, i, e, obs) })
	}
	wait.Wait()
	return list, errors.Join(errs...)
}

// Prepare implements Preparer: the environment rewards.
func (Gem) Prepare(r *Rollout) error {
	_, err := readGemArgs(r)
	return err
}

// episode plays one repetition and returns one of its turns.
func (a *gemArgs) episode(ctx context.Context, r *Rollout, t Task, run int, e env.Env, obs env.Observation) (*experience.Experience, error) {
	draws := rng.New(t.Seed).Stream("episode", run)
	var turns []*experience.Experience
	sum := 0.0
	for done := false; !done; {
		x, err := a.turn(ctx, r, t, obs, draws.Uint64(), experience.EID{Batch: t.Batch, Task: t.ID, Run: run, Step: len(turns), Suffix: experience.Suffix(t.Seed + uint64(run))})
		if err != nil {
			return nil, err
		}
		next, err := e.Step(x.ResponseText)
		if err != nil {
			return nil, err
		}
		x.SetReward(next.Reward)
		sum += next.Reward
		turns = append(turns, x)
		obs, done = next.Observation, next.Done()
	}
	value := 0.0
	for i := len(turns) - 1; i >= 0; i-- {
		value = *turns[i].Reward + float64(a.gamma*value)
		turns[i].SetReward(value)
	}
	x := turns[draws.IntN(len(turns))]
	x.Metrics = map[string]float64{"accuracy": 0, "episode_return": sum, "num_turns": float64(len(turns))}
	if sum >= 1-1e-9 {
		x.Metrics["accuracy"] = 1
	}
	return x, nil
}

// turn asks for one action.
func (a *gemArgs) turn(ctx context.Context, r *Rollout, t Task, obs env.Observation, seed uint64, id experience.EID) (*experience.Experience, error) {
	text := a.template(strings.Join([]string{obs.Prefix, obs.Text, obs.Suffix}, ""))
	prompt, err := r.Renderer.Encode(text)
	if err != nil {
		return nil, err
	}
	if r.MaxPrompt > 0 && len(prompt) > r.MaxPrompt {
		return nil, tinker.Userf("workflow: turn %d of %s has a prompt of %d tokens, above max_prompt_tokens %d; raise it", id.Step+1, a.id, len(prompt), r.MaxPrompt)
	}
	params := r.Params
	params.Seed = &seed
	f, err := r.Sampler.Sample(ctx, tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: 1, Params: params})
	if err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	res, err := f.Wait(ctx)
	if err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	if len(res.Sequences) != 1 {
		return nil, errors.New("workflow: the sampler returned no sequence")
	}
	q := res.Sequences[0]
	turn := experience.Turn{Prompt: prompt, Response: q.Tokens, Logprobs: q.Logprobs, Text: r.Renderer.Decode(q.Tokens), Stop: experience.StopReason(q.StopReason)}
	x := turn.Experience(id)
	x.PromptText = text
	if q.StopReason == tinker.StopLength {
		x.TruncateStatus = experience.ResponseTruncated
	}
	stamp(x, r, t)
	return x, nil
}
