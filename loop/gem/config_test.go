package gem

import (
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// The seed's Config, field by field.
func TestDefaultsAreTheSeeds(t *testing.T) {
	want := map[string]string{
		"model_name": "Qwen/Qwen3-4B-Instruct-2507", "batch_size": "128", "learning_rate": "4e-05", "lora_rank": "8",
		"max_tokens": "1024",
		"seed":       "0", "max_steps": "20", "save_every": "5", "env_id": "game:GuessTheNumber-v0-easy",
		"num_env":      "32",
		"env_wrappers": "concat",
		"template":     "qwen3_game", "gamma": "0.9", "use_rebn": "true", "wandb_project": "None", "wandb_name": "None",
		"log_dir":  "None",
		"base_url": "None", "temperature": "1", "eval_every": "0", "resume": "None",
	}
	c := Default()
	got := map[string]string{}
	for _, k := range c.Keys() {
		got[k.Name] = k.Value
		if k.Help == "" {
			t.Errorf("key %s has no help", k.Name)
		}
	}
	for key, v := range want {
		if got[key] != v {
			t.Errorf("%s=%s, want %s", key, got[key], v)
		}
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

// Keys gives back what SetAll reads.
func TestKeysRoundTrip(t *testing.T) {
	c := Default()
	if err := c.SetAll([]string{"use_rebn=False", "learning_rate=1e-3", "max_steps=7", "wandb_name=a=b", "seed=-3",
		"wandb_name=c=d"}); err != nil {
		t.Fatal(err)
	}
	if c.UseReBN || c.LearningRate != 1e-3 || c.MaxSteps != 7 || c.WandbName != "c=d" || c.Seed != -3 {
		t.Errorf("got %+v", c)
	}
	again := Default()
	for _, k := range c.Keys() {
		if err := again.Set(k.Name, k.Value); err != nil {
			t.Error(err)
		}
	}
	if again != c {
		t.Errorf("got %+v, want %+v", again, c)
	}
}

func TestWhatIsRefused(t *testing.T) {
	for pair, want := range map[string]string{
		"learning_rat=1":          "did you mean learning_rate?",
		"envid=x":                 "did you mean env_id?",
		"zzzzzzzzz=1":             "trinity gem --help",
		"max_steps":               "not of the form key=value",
		"max_steps=2.5":           "whole number",
		"use_rebn=maybe":          "True or False",
		"gamma=high":              "must be a number",
		"gamma=1.5":               "from 0 to 1",
		"temperature=0":           "greedy",
		"template=qwen":           "qwen3_game",
		"method=ppo":              "reinforce, grpo, shuffled",
		"batch_size=0":            "1 or more",
		"learning_rate=nan":       "0 or more",
		"env_wrappers_=concat":    "did you mean env_wrappers?",
		"method=grpo num_env=30":  "a multiple of group_size 8",
		"method=grpo fork_turn=-": "whole number",
	} {
		c := Default()
		err := c.SetAll(strings.Fields(pair))
		if err == nil {
			err = c.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", pair, err, want)
		}
	}
}

func TestTitle(t *testing.T) {
	c := Default()
	if got, want := c.Title(), "Qwen3-4B-Instruct-2507_game:GuessTheNumber-v0-easy"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c.WandbName = "mine"
	if got := c.Title(); got != "mine" {
		t.Errorf("got %s, want wandb_name", got)
	}
}

// The templates, byte for byte as the seed writes them.
func TestTemplates(t *testing.T) {
	const reason = "Please reason step by step, and put your final answer within " +
		"\\boxed{}.<|im_end|>\n<|im_start|>assistant\n"
	for name, want := range map[string]string{
		"qwen3_game": "<|im_start|>user\nYou are playing language games. Make valid actions to win.\nObservation: " +
			"Guess!\n" + reason,
		"qwen3_general": "<|im_start|>user\nQuestion: Guess!\n" + reason,
		"no":            "Guess!",
	} {
		f, err := env.TemplateOf(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := f("Guess!"); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
