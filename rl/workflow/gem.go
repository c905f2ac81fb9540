package workflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Gem plays episodes of an environment. All repetitions of a task begin in the same state, which the row's number
// decides as the seed. workflow_args are
//
//	env_id     the environment
//	wrappers   around it, innermost first, separated by commas ("concat")
//	template   around an observation: qwen3_game, qwen3_general or no ("qwen3_game")
//	max_turns  of an episode, instead of the environment's own
//	gamma      discount of returns (0.9)
//	strict_seed  refuses an environment that ignores the seed of reset (false)
//	data_dir   a folder with upstream's words and clues, or an encyclopedia; the maker of Rollout.Environments
//	           reads it
//	tools      that the player has: python, search, mcp:… (env.ToolSpec); GEM's own wrappers, such as python_tool, are
//	           named in wrappers
//	tool_reward, tool_success_reward, tool_execute_error_reward, max_tool_uses (10)
//	tool_timeout, search_url, python, sandbox
//
// An experience is one turn, as a model sees it, with its discounted return as reward. Each repetition gives one: a
// turn of its episode drawn at random, so that every task has as many experiences as the loops count on and every
// episode weighs the same in the metrics: accuracy (a return of 1 or more), episode_return and num_turns.
type Gem struct{}

// gemArgs are the workflow_args read.
type gemArgs struct {
	id       string
	params   env.Params
	wrappers []env.Wrapper
	names    string // of the wrappers
	tools    env.ToolSpec
	template env.Template
	gamma    float64
	retells  bool // observations tell the actions so far
	spec     env.Spec
}

func readGemArgs(r *Rollout) (a gemArgs, err error) {
	names, template := "concat", env.GameTemplate
	a.gamma = 0.9
	given := arg.Read(r.Args)
	a.id, names, template = given.Text("env_id", ""), given.Text("wrappers", names), given.Text("template", template)
	if n := given.Int("max_turns", 0, 1); n > 0 {
		a.params = env.Params{"max_turns": n}
	}
	a.gamma = given.Float("gamma", a.gamma)
	given.Require(a.gamma >= 0 && a.gamma <= 1, "gamma", a.gamma, "from 0 to 1")
	given.Text("data_dir", "")
	strict := given.Bool("strict_seed", false)
	a.readTools(given, names)
	if err := given.Close(); err != nil {
		return a, fmt.Errorf("workflow: gem_workflow: workflow_args.%w", err)
	}
	if r.Environments == nil {
		return a, errors.New("workflow: gem_workflow was given no environments")
	}
	if err := a.checkWrappers(r); err != nil {
		return a, err
	}
	a.retells = env.Retells(names)
	if a.template, err = env.TemplateOf(template); err != nil {
		return a, err
	}
	if _, err = r.Environments.Make(a.id, a.params); err != nil {
		return a, err
	}
	if a.spec, err = r.Environments.Spec(a.id); err != nil {
		return a, err
	}
	return a, a.spec.CheckSeed(strict)
}

// readTools reads the arguments of tools.
func (a *gemArgs) readTools(given *arg.Reader, wrappers string) {
	a.tools = env.ToolSpec{Wrappers: wrappers, Tools: given.Text("tools", ""), Python: given.Text("python", ""),
		Sandbox: given.Text("sandbox", ""), Timeout: given.Float("tool_timeout", 0),
		SearchURL: given.Text("search_url", ""), Rules: env.ToolOptions{Reward: given.Float("tool_reward", 0),
			SuccessReward: given.Float("tool_success_reward", 0),
			ErrorReward:   given.Float("tool_execute_error_reward", 0), MaxUses: given.Int("max_tool_uses", 10, 0)}}
	a.names = a.tools.Names()
}

// checkWrappers finds the wrappers. Those of tools do nothing before they are opened.
func (a *gemArgs) checkWrappers(r *Rollout) (err error) {
	var tools map[string]env.Wrapper
	if r.Tools != nil {
		if tools, err = r.Tools.Names(a.tools); err != nil {
			return err
		}
	}
	a.wrappers, err = env.Wrappers(a.names, r.Chat, tools)
	return err
}

// open opens the tools for calls that end with ctx.
func (a *gemArgs) open(ctx context.Context, r *Rollout) error {
	if r.Tools == nil {
		return nil
	}
	tools, err := r.Tools.Wrappers(ctx, a.tools)
	if err != nil {
		return err
	}
	a.wrappers, err = env.Wrappers(a.names, r.Chat, tools)
	return err
}

// Run implements Workflow.
func (Gem) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	a, err := readGemArgs(r)
	if err != nil {
		return nil, tinker.Userf("%w", err)
	}
	if err := a.open(ctx, r); err != nil {
		return nil, err
	}
	begin, err := a.beginnings(r, t)
	if err != nil {
		return nil, err
	}
	return r.episodes(t, func(run int) ([]*experience.Experience, error) {
		e, obs, err := begin(run)
		if err != nil {
			return nil, err
		}
		x, err := a.episode(ctx, r, t, run, e, obs)
		return []*experience.Experience{x}, err
	})
}

// beginnings returns how the repetitions of a task begin: with forks of one environment, or each with a reset of its
// own where seeds are ignored. The row's number is the number of the task, where the environment has tasks, and the
// seed.
func (a *gemArgs) beginnings(r *Rollout, t Task) (func(run int) (env.Env, env.Observation, error), error) {
	params := maps.Clone(a.params)
	if a.spec.Tasks > 0 {
		if params == nil {
			params = env.Params{}
		}
		params["task"] = t.Index % a.spec.Tasks
	}
	draw := rng.New(uint64(t.Index)).Stream("environment")
	seed := draw.Uint64()
	reset := func() (env.Env, env.Observation, error) {
		e, err := r.Environments.Make(a.id, params)
		if err != nil {
			return nil, env.Observation{}, err
		}
		e = env.Wrap(e, a.wrappers...)
		obs, err := e.Reset(seed)
		return e, obs, err
	}
	if a.spec.Unsteady {
		return func(int) (env.Env, env.Observation, error) { return reset() }, nil
	}
	first, obs, err := reset()
	if err != nil {
		return nil, err
	}
	starts := make([]env.Env, t.Repeat)
	for i := range starts {
		starts[i] = first.Fork()
	}
	return func(run int) (env.Env, env.Observation, error) { return starts[run], obs, nil }, nil
}

// Prepare implements Preparer: the environment rewards.
func (Gem) Prepare(r *Rollout) error {
	_, err := readGemArgs(r)
	return err
}

// episode plays one repetition and returns one of its turns.
func (a *gemArgs) episode(ctx context.Context, r *Rollout, t Task, run int, e env.Env,
	obs env.Observation) (*experience.Experience, error) {
	draws := rng.New(t.Seed).Stream("episode", run)
	var turns []*experience.Experience
	var told []said
	before, calls := "", 0
	var seq chat.Sequence
	sum, long := 0.0, new(tooLong)
	for done := false; !done; {
		x, err := a.turn(ctx, r, t, &seq, obs, draws.Uint64(),
			experience.EID{Batch: t.Batch, Task: t.ID, Run: run, Step: len(turns),
				Suffix: experience.Suffix(t.Seed + uint64(run))})
		if errors.As(err, &long) && len(turns) > 0 {
			turns[len(turns)-1].Metrics[OutOfRoom] = 1
			break
		}
		if err != nil {
			return nil, err
		}
		stop := r.Grading.Grade() // a step gives the reward
		next, err := e.Step(x.ResponseText)
		stop()
		if err != nil {
			return nil, err
		}
		x.SetReward(next.Reward)
		read := obs.Prefix + unsaid(before, obs.Text) + obs.Suffix
		told = append(told, said{Role: "user", Content: read, Turn: len(turns) + 1},
			said{Role: "assistant", Content: x.ResponseText, Turn: len(turns) + 1, Reward: &next.Reward})
		before = obs.Text
		if next.Tool {
			calls++
		}
		sum += next.Reward
		turns = append(turns, x)
		obs, done = next.Observation, next.Done()
	}
	value, anew, full := 0.0, 0.0, 0.0
	for i := len(turns) - 1; i >= 0; i-- {
		value = *turns[i].Reward + float64(a.gamma*value)
		turns[i].SetReward(value)
		anew += turns[i].Metrics[NewSequences]
		full = max(full, turns[i].Metrics[OutOfRoom])
	}
	x := turns[draws.IntN(len(turns))]
	x.Metrics = map[string]float64{"accuracy": 0, "episode_return": sum, "num_turns": float64(len(turns))}
	for name, v := range map[string]float64{NewSequences: anew, OutOfRoom: full} { // of the episode
		if v > 0 {
			x.Metrics[name] = v
		}
	}
	if sum >= 1-1e-9 {
		x.Metrics["accuracy"] = 1
	}
	x.Note = &experience.Note{Messages: noteOf(told), Turns: len(turns), ToolCalls: calls, Board: obs.Suffix}
	return x, nil
}

// turn asks for one action. If the observation repeats the episode so far in the form that the model knows, the model
// reads the tokens of its earlier actions as it sampled them.
func (a *gemArgs) turn(ctx context.Context, r *Rollout, t Task, seq *chat.Sequence, obs env.Observation,
	seed uint64, id experience.EID) (*experience.Experience, error) {
	text := a.template(strings.Join([]string{obs.Prefix, obs.Text, obs.Suffix}, ""))
	prompt, continues, err := seq.Next(text, r.Renderer.Encode)
	if err != nil {
		return nil, err
	}
	if err := r.checkPrompt(fmt.Sprintf("the prompt of turn %d of %s", id.Step+1, a.id), prompt); err != nil {
		return nil, err
	}
	q, full, err := r.sampleOne(ctx, prompt, r.Params.MaxTokens, seed)
	if err != nil {
		return nil, err
	}
	action := r.Renderer.Decode(q.Tokens)
	seq.Record(prompt, text, q.Tokens, action, q.StopReason == tinker.StopStop)
	turn := experience.Turn{Prompt: prompt, Response: q.Tokens, Logprobs: q.Logprobs, Text: action,
		Stop: experience.StopReason(q.StopReason)}
	x := turn.Experience(id)
	x.PromptText = text
	if q.StopReason == tinker.StopLength {
		x.TruncateStatus = experience.ResponseTruncated
	}
	x.Metrics = map[string]float64{}
	if full {
		x.Metrics[OutOfRoom] = 1
	}
	if a.retells && id.Step > 0 && !continues {
		x.Metrics[NewSequences] = 1
	}
	r.Stamp(x, t)
	return x, nil
}
