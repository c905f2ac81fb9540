package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

// RewardFuncs are the reward functions by their names.
func (s *Set) RewardFuncs() map[string]reward.Func {
	out := map[string]reward.Func{}
	for name := range s.Rewards {
		out[name] = func(sample reward.Sample) (reward.Scores, error) { return s.grade(name, sample) }
	}
	return out
}

// given are the arguments that a workflow hands to the call, not to the constructor, of a reward function.
var given = []string{"with_think", "format_score_coef"}

// grade calls a reward function of Python.
func (s *Set) grade(name string, sample reward.Sample) (reward.Scores, error) {
	ctx := s.ctx
	if s.rewards != nil {
		select {
		case s.rewards <- struct{}{}:
			defer func() { <-s.rewards }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if limit := s.opts.RewardTimeout; limit > 0 {
		ctx = python.WithLimit(ctx, limit, fmt.Errorf("no reward within %v (explorer.reward_timeout)", limit))
	}
	args, call := map[string]any{}, map[string]any{"response": sample.Response, "truth": sample.Truth,
		"prompt": sample.Prompt, "response_token": sample.ResponseTokens, "info": struct{}{}}
	if s.functions[name] != nil {
		call["columns"] = sample.Columns
	}
	for k, v := range sample.Args {
		if slices.Contains(given, k) {
			call[k] = v
		} else {
			args[k] = v
		}
	}
	var parts map[string]python.Float
	err := s.host.Call(ctx, "reward.call", map[string]any{"name": name, "args": args, "given": call}, &parts, builtin)
	if err != nil {
		return nil, failed(name, err, nil)
	}
	return scoresOf(name, parts)
}

// scoresOf are the parts in the order of their names.
func scoresOf(name string, parts map[string]python.Float) (reward.Scores, error) {
	var scores reward.Scores
	for _, k := range slices.Sorted(maps.Keys(parts)) {
		v := float64(parts[k])
		if !experience.Finite(v) {
			return nil, fmt.Errorf("plugin: %s returned %v as its part %q; a reward must be a finite number", name, v,
				k)
		}
		scores = append(scores, reward.Score{Name: k, Value: v})
	}
	return scores, nil
}

// builtin answers calls back to the reward functions of this program.
func builtin(_ context.Context, name string, raw json.RawMessage) (any, error) {
	if name == "reward.step" {
		return step(raw)
	}
	if name != "reward.builtin" {
		return nil, fmt.Errorf("%s can only be used in a workflow", name)
	}
	var args struct {
		Name     string         `json:"name"`
		Prompt   string         `json:"prompt"`
		Response string         `json:"response"`
		Truth    string         `json:"truth"`
		Tokens   []int32        `json:"response_tokens"`
		Args     map[string]any `json:"args"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	if args.Name == "same_answer" {
		right := 0.0
		if reward.SameAnswer(args.Response, args.Truth) {
			right = 1
		}
		return map[string]float64{"accuracy": right}, nil
	}
	f, ok := reward.Funcs()[args.Name]
	if !ok {
		return nil, fmt.Errorf("there is no reward function %q", args.Name)
	}
	scores, err := f(reward.Sample{Prompt: args.Prompt, Response: args.Response, Truth: args.Truth,
		ResponseTokens: args.Tokens, Args: args.Args})
	if err != nil {
		return nil, err
	}
	parts := map[string]float64{}
	for _, p := range scores {
		parts[p.Name] = p.Value
	}
	return parts, nil
}

// step answers a call back for a step of the graders: the text that it gives, or nil.
func step(raw json.RawMessage) (any, error) {
	var args struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	out, found, known := reward.Step(args.Name, args.Text)
	switch {
	case !known:
		return nil, fmt.Errorf("there is no step %q", args.Name)
	case !found:
		return nil, nil
	}
	return out, nil
}
