package gem

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/spell"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// Config is everything that can be set. The first block is the seed's Config with the seed's defaults. The zero value
// is not useful: start from Default.
type Config struct {
	ModelName    string  `key:"model_name"`
	BatchSize    int     `key:"batch_size"`
	LearningRate float64 `key:"learning_rate"`
	LoRARank     int     `key:"lora_rank"`
	MaxTokens    int     `key:"max_tokens"`
	Seed         int64   `key:"seed"`
	MaxSteps     int     `key:"max_steps"`
	SaveEvery    int     `key:"save_every"`
	EnvID        string  `key:"env_id"`
	NumEnv       int     `key:"num_env"`
	EnvWrappers  string  `key:"env_wrappers"`
	Template     string  `key:"template"`
	Gamma        float64 `key:"gamma"`
	UseReBN      bool    `key:"use_rebn"`
	WandbProject string  `key:"wandb_project"`
	WandbName    string  `key:"wandb_name"`
	LogDir       string  `key:"log_dir"`

	BaseURL      string  `key:"base_url"`
	DataDir      string  `key:"data_dir"`
	Temperature  float64 `key:"temperature"`
	EvalEvery    int     `key:"eval_every"`
	EvalEpisodes int     `key:"eval_episodes"`
	Resume       string  `key:"resume"`
	Method       string  `key:"method"`
	GroupSize    int     `key:"group_size"`
	ForkTurn     int     `key:"fork_turn"`
	Metrics      bool    `key:"metrics"`
	OutputDir    string  `key:"output_dir"`
	KeepSamplers int     `key:"keep_samplers"`

	Tools             string  `key:"tools"`
	ToolReward        float64 `key:"tool_reward"`
	ToolSuccessReward float64 `key:"tool_success_reward"`
	ToolErrorReward   float64 `key:"tool_execute_error_reward"`
	MaxToolUses       int     `key:"max_tool_uses"`
	ToolTimeout       float64 `key:"tool_timeout"`
	SearchURL         string  `key:"search_url"`
	Python            string  `key:"python"`
	Sandbox           string  `key:"sandbox"`

	StrictSeed bool `key:"strict_seed"`
}

// ToolSpec returns the keys about tools.
func (c *Config) ToolSpec() env.ToolSpec {
	return env.ToolSpec{Tools: c.Tools, Wrappers: c.EnvWrappers, Python: c.Python, Sandbox: c.Sandbox,
		Timeout: c.ToolTimeout, SearchURL: c.SearchURL, Rules: env.ToolOptions{Reward: c.ToolReward,
			SuccessReward: c.ToolSuccessReward, ErrorReward: c.ToolErrorReward, MaxUses: c.MaxToolUses}}
}

// CheckTools refuses unknown wrappers and tools that cannot be used, without opening any. Whether the model has a
// template is checked later.
func (c *Config) CheckTools(tools env.Toolbox) error {
	known, err := tools.Names(c.ToolSpec())
	if err != nil {
		return err
	}
	_, err = env.Wrappers(c.ToolSpec().Names(), (*chat.Template)(nil), known)
	return err
}

// DefaultModel is the seed's model_name. Where no backend knows it and none was asked for, the shipped model plays.
const DefaultModel = "Qwen/Qwen3-4B-Instruct-2507"

// Default returns the seed's defaults, and ours for the keys it does not have.
func Default() Config {
	return Config{
		ModelName: DefaultModel, BatchSize: 128, LearningRate: 4e-5, LoRARank: 8, MaxTokens: 1024, MaxSteps: 20,
		SaveEvery: 5,
		EnvID:     "game:GuessTheNumber-v0-easy", NumEnv: 32, EnvWrappers: "concat", Template: env.GameTemplate,
		Gamma:       0.9,
		UseReBN:     true,
		Temperature: 1, EvalEpisodes: 500, Method: "reinforce", GroupSize: 8, Metrics: true,
		OutputDir: "./tinker_output", KeepSamplers: 1,
		MaxToolUses: 10, ToolTimeout: 10, Sandbox: "auto",
	}
}

// methods are the ways to score turns.
var methods = []string{"reinforce", "grpo", "shuffled"}

// Key is a key of the configuration, for lists.
type Key struct{ Name, Value, Help string }

// Keys lists the keys with their values in order.
func (c *Config) Keys() []Key {
	v, help := reflect.ValueOf(c).Elem(), helps()
	keys := make([]Key, v.NumField())
	for i := range keys {
		f := v.Type().Field(i)
		value := fmt.Sprint(v.Field(i))
		if value == "" && f.Name != "EnvWrappers" {
			value = "None"
		}
		keys[i] = Key{f.Tag.Get("key"), value, help[f.Tag.Get("key")]}
	}
	return keys
}

// helps says what each key is.
func helps() map[string]string {
	return map[string]string{
		"model_name":    "the base model: a folder, or a name that the server knows",
		"batch_size":    "turns trained in a step",
		"learning_rate": "of Adam",
		"lora_rank":     "of the adapter; 0 trains all weights, on the local engine only",
		"max_tokens":    "of an answer",
		"seed":          "everything drawn derives from it: adapter, environments, samples, sub-sampling",
		"max_steps":     "steps in all",
		"save_every":    "steps between saved states; 0 saves at the end only",
		"env_id":        "the environment; trinity gem list shows them",
		"num_env":       "episodes played side by side",
		"env_wrappers":  "around the environment, innermost first, separated by commas",
		"template":      "around the observation: qwen3_game, qwen3_general or no",
		"gamma":         "discount of a turn's return",
		"use_rebn":      "normalise the returns of a batch to mean 0 and deviation 1",
		"wandb_project": "records the run for Weights & Biases: an offline file, and with WANDB_API_KEY the service; " +
			"None writes TensorBoard files",
		"wandb_name": "begins the name of the run; None is made of model and environment",
		"log_dir":    "metrics go to a folder with the run's name in it; None is the save path",
		"base_url":   "a Tinker server, or local; None lets model and environment decide",
		"data_dir": "a folder with upstream's en-basic, en and " +
			"words_clues.jsonl, or a wiki.jsonl; None takes what the " +
			"program carries",
		"temperature":   "of sampling",
		"eval_every":    "steps between evaluations on held-out seeds; 0 is never",
		"eval_episodes": "episodes of an evaluation",
		"resume":        "latest, or the folder of a run: continue it; None begins a new one",
		"method": "reinforce, grpo (groups of episodes from one state), or shuffled (a control: reinforce with the " +
			"returns dealt out at random)",
		"group_size":    "episodes of a group of grpo",
		"fork_turn":     "turns that a group of grpo has in common",
		"metrics":       "false is the seed's main_no_metrics: nothing is printed, saved on the way or evaluated",
		"output_dir":    "where the runs' folders are",
		"keep_samplers": "how many steps' sampler weights are kept; older ones are deleted",
		"tools": "tools that the player has, separated by commas: python, search, mcp:URL, mcp:FILE.json, " +
			"mcp:COMMAND; GEM's wrappers, such as python_tool, are named in env_wrappers",
		"tool_reward":               "for each call of one of the tools",
		"tool_success_reward":       "for each call that does not fail, in addition",
		"tool_execute_error_reward": "below 0: for each call that fails; then the other two are 0",
		"max_tool_uses":             "calls of the tools in an episode; 0 is no limit",
		"tool_timeout":              "seconds that the model's Python code may run",
		"search_url":                "the server of the search tool; None takes SEARCH_URL",
		"python":                    "the Python that runs the model's code; None takes VIRTUAL_ENV's, or python3",
		"strict_seed":               "refuse an environment that ignores the seed of reset",
		"sandbox":                   "for the model's Python code: auto, namespaces, or none (unprotected)",
	}
}

// Set changes a key. An unknown one is an error that names the nearest.
func (c *Config) Set(key, value string) error {
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("key") == key {
			return set(v.Field(i), key, value)
		}
	}
	return fmt.Errorf("gem: there is no key %q%s; trinity gem --help lists them", key, c.nearest(key))
}

func set(field reflect.Value, key, value string) error {
	var err error
	switch field.Kind() {
	case reflect.String:
		if value == "None" || value == "null" {
			value = ""
		}
		field.SetString(value)
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(strings.ToLower(value))
		field.SetBool(b)
	case reflect.Float64:
		var f float64
		f, err = strconv.ParseFloat(value, 64)
		field.SetFloat(f)
	default:
		var n int64
		n, err = strconv.ParseInt(value, 10, 64)
		field.SetInt(n)
	}
	if err != nil {
		return fmt.Errorf("gem: %s=%s: it must be a %s", key, value, kindName(field.Kind()))
	}
	return nil
}

func kindName(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "True or False"
	case reflect.Float64:
		return "number"
	}
	return "whole number"
}

// SetAll applies key=value pairs, the later over the earlier.
func (c *Config) SetAll(pairs []string) error {
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("gem: %q is not of the form key=value", pair)
		}
		if err := c.Set(key, value); err != nil {
			return err
		}
	}
	return nil
}

// Pairs reads a file of keys and values, YAML, as pairs in the file's order.
func Pairs(data []byte) ([]string, error) {
	var file yaml.MapSlice
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	var pairs []string
	for _, item := range file {
		value := item.Value
		if value == nil {
			value = "None"
		}
		pairs = append(pairs, fmt.Sprintf("%v=%v", item.Key, value))
	}
	return pairs, nil
}

// nearest is a hint at the key that was probably meant.
func (c *Config) nearest(word string) string {
	best, least := "", 1+max(2, len(word)/2)
	for _, k := range c.Keys() {
		if d := spell.Distance(word, k.Name); d < least {
			best, least = k.Name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// Validate reports everything that is wrong.
func (c *Config) Validate() error {
	var errs []error
	check := func(ok bool, key string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("gem: %s=%v: it must be %s", key, value, want))
		}
	}
	check(c.BatchSize >= 1, "batch_size", c.BatchSize, "1 or more")
	check(c.LearningRate >= 0 && !math.IsInf(c.LearningRate, 0), "learning_rate", c.LearningRate, "0 or more")
	check(c.LoRARank >= 0, "lora_rank", c.LoRARank, "0 or more")
	check(c.MaxTokens >= 1, "max_tokens", c.MaxTokens, "1 or more")
	check(c.MaxSteps >= 0, "max_steps", c.MaxSteps, "0 or more")
	check(c.NumEnv >= 1, "num_env", c.NumEnv, "1 or more")
	check(c.Gamma >= 0 && c.Gamma <= 1, "gamma", c.Gamma, "from 0 to 1")
	check(c.Temperature > 0 && !math.IsInf(c.Temperature, 0), "temperature", c.Temperature,
		"above 0: a greedy player learns nothing")
	check(c.EvalEvery >= 0, "eval_every", c.EvalEvery, "0 or more")
	check(c.EvalEpisodes >= 1, "eval_episodes", c.EvalEpisodes, "1 or more")
	check(c.KeepSamplers >= 1, "keep_samplers", c.KeepSamplers, "1 or more")
	check(slices.Contains(methods, c.Method), "method", c.Method, "one of "+strings.Join(methods, ", "))
	if c.Method == "grpo" {
		check(c.GroupSize >= 2, "group_size", c.GroupSize, "2 or more")
		check(c.GroupSize < 2 || c.NumEnv%c.GroupSize == 0, "num_env", c.NumEnv,
			fmt.Sprintf("a multiple of group_size %d", c.GroupSize))
		check(c.ForkTurn >= 0, "fork_turn", c.ForkTurn, "0 or more")
	}
	if _, err := env.TemplateOf(c.Template); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// evaluates reports whether the weights that a step begins with are evaluated.
func (c *Config) evaluates(step int) bool {
	return c.Metrics && c.EvalEvery > 0 && step%c.EvalEvery == 0
}

// Title begins the name of a run, as the seed makes it: wandb_name, else the model's last name and the environment.
func (c *Config) Title() string {
	if c.WandbName != "" {
		return c.WandbName
	}
	id, _, _ := strings.Cut(c.EnvID, "?") // arguments of an environment in Python
	return c.ModelName[strings.LastIndex(c.ModelName, "/")+1:] + "_" + id[strings.LastIndex(id, "/")+1:]
}
