package workflow

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/game"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func playing(t *testing.T, s tinker.SamplingClient, args map[string]any) (Rollout, error) {
	t.Helper()
	words, err := game.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	registry, err := env.NewRegistry(game.Table(words))
	if err != nil {
		t.Fatal(err)
	}
	return WithDefaults("gem_workflow", Rollout{Sampler: s, Version: 3, Renderer: bytewise{},
		Params: tinker.DefaultSampling(), Environments: registry, Args: args}, Own{})
}

var guessing = map[string]any{"env_id": "game:GuessTheNumber-v0-easy", "wrappers": "concat", "template": "qwen3_game",
	"max_turns": 3, "gamma": 0.5, "data_dir": ""}

func TestGemWorkflow(t *testing.T) {
	r, err := playing(t, scripted{answers: []string{`I say \boxed{99}`}}, guessing)
	if err != nil {
		t.Fatal(err)
	}
	r.Grading = new(Clock)
	steps := map[int]bool{}
	for index := range 8 {
		task := task
		task.Index, task.Seed, task.Repeat = index, uint64(index), 4
		list, err := (Gem{}).Run(context.Background(), &r, task)
		if err != nil || len(list) != 4 {
			t.Fatalf("%d experiences, %v; want one for each repetition", len(list), err)
		}
		for i, e := range list {
			steps[e.EID.Step] = true
			if e.EID.Run != i || e.EID.TID() != list[0].EID.TID() || e.Info.ModelVersion != 3 || e.Validate() != nil {
				t.Errorf("experience %d: %v, %+v, %v", i, e.EID, e.Info, e.Validate())
			}
			if n := strings.Count(e.PromptText, "outside the range"); n != e.EID.Step ||
				!strings.HasPrefix(e.PromptText, "<|im_start|>user\nYou are playing") {
				t.Errorf("turn %d sees %q", e.EID.Step, e.PromptText)
			}
			// Three guesses out of range are worth nothing.
			if *e.Reward != 0 || e.Metrics["num_turns"] != 3 || e.Metrics["episode_return"] != 0 ||
				e.Metrics["accuracy"] != 0 {
				t.Errorf("reward %v, metrics %v", *e.Reward, e.Metrics)
			}
		}
	}
	if len(steps) != 3 {
		t.Errorf("turns %v were drawn, want all three", steps)
	}
	if _, ok := r.Grading.Graded(); !ok {
		t.Error("the steps of the environment were not measured")
	}
}

// The reward of a turn is the discounted sum of the rewards after it.
func TestGemWorkflowDiscounts(t *testing.T) {
	r, err := playing(t, scripted{answers: []string{`\boxed{10}`}},
		map[string]any{"env_id": "game:GuessTheNumber-v0-easy", "max_turns": 2, "gamma": 0.5})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for index := range 12 {
		task := task
		task.Index, task.Seed, task.Repeat = index, uint64(index), 2
		list, err := (Gem{}).Run(context.Background(), &r, task)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			want := e.Metrics["episode_return"] * math.Pow(0.5, e.Metrics["num_turns"]-1-float64(e.EID.Step))
			if *e.Reward != want {
				t.Errorf("turn %d of %v with return %v has reward %v, want %v", e.EID.Step, e.Metrics["num_turns"],
					e.Metrics["episode_return"], *e.Reward, want)
			}
			seen[e.EID.Step] = true
		}
	}
	if len(seen) != 2 {
		t.Errorf("turns %v were drawn, want both", seen)
	}
}

func TestGemWorkflowRefuses(t *testing.T) {
	for want, change := range map[string][2]any{
		"the nearest is":                 {"env_id", "game:GuessTheNumber-v0-eesy"},
		"there is no wrapper":            {"wrappers", "concatenate"},
		"there is no template":           {"template", "chatml"},
		"workflow_args.max_turns is 0.5": {"max_turns", 0.5},
		"workflow_args.gamma is 2":       {"gamma", 2},
		"workflow_args.envid is not an argument; did you mean env_id?": {"envid", "x"},
		"needs a chat template": {"wrappers", "concat_chat"},
	} {
		args := map[string]any{"env_id": "game:GuessTheNumber-v0-easy"}
		args[change[0].(string)] = change[1]
		if _, err := playing(t, scripted{}, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", change, err, want)
		}
	}
	r, err := playing(t, scripted{answers: []string{"x"}, err: errors.New("no paper")}, guessing)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Gem{}).Run(context.Background(), &r, task); err == nil || !strings.Contains(err.Error(), "no paper") {
		t.Errorf("error %v, want the sampler's", err)
	}
}
