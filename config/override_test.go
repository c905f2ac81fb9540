package config

import (
	"reflect"
	"strings"
	"testing"
)

const base = `
algorithm: {algorithm_type: grpo, kl_loss_fn_args: {kl_coef: 0.1}}
model: {model_path: m, max_model_len: 100}
buffer:
  explorer_input:
    taskset: {path: train.jsonl}
    eval_tasksets:
    - path: a.jsonl
`

func TestOverrides(t *testing.T) {
	for _, tt := range []struct {
		override string
		get      func(*Config) any
		want     any
	}{
		{"buffer.batch_size=16", func(c *Config) any { return c.Buffer.BatchSize }, 16},
		{"group=", func(c *Config) any { return c.Group }, ""},
		{"seed=3", func(c *Config) any { return *c.Seed }, int64(3)},
		{"seed=null", func(c *Config) any { return c.Seed == nil }, true},
		{"algorithm.optimizer.lr=1e-3", func(c *Config) any { return c.Algorithm.Optimizer.LR }, 1e-3},
		{"algorithm.optimizer.betas=[0.8, 0.95]", func(c *Config) any { return c.Algorithm.Optimizer.Betas },
			[]float64{0.8, 0.95}},
		{"algorithm.optimizer={lr: 2}", func(c *Config) any { return c.Algorithm.Optimizer.LR }, 2.0},
		{"algorithm.kl_loss_fn_args={target_kl: 1}", func(c *Config) any { return c.Algorithm.KLLossFnArgs },
			map[string]any{"kl_coef": 0.1, "target_kl": 1}},
		{"buffer.explorer_input.eval_tasksets[0].path=b",
			func(c *Config) any { return c.Buffer.ExplorerInput.EvalTasksets[0].Path }, "b"},
		{"buffer.explorer_input.eval_tasksets.0.split=test",
			func(c *Config) any { return c.Buffer.ExplorerInput.EvalTasksets[0].Split }, "test"},
		{"buffer.explorer_input.eval_tasksets[1].path=c",
			func(c *Config) any { return len(c.Buffer.ExplorerInput.EvalTasksets) }, 2},
		{"buffer.explorer_input.eval_tasksets=[]",
			func(c *Config) any { return len(c.Buffer.ExplorerInput.EvalTasksets) }, 0},
		{"explorer.auxiliary_models[0].model_path=aux",
			func(c *Config) any { return c.Explorer.AuxiliaryModels[0].ModelPath }, "aux"},
		{"model.custom_chat_template=a=b", func(c *Config) any { return c.Model.CustomChatTemplate }, "a=b"},
		{"group=${name}-${oc.env:NUMBER}", func(c *Config) any { return c.Group }, "rft-7"},
		{"explorer.env_vars.A.B=1", func(c *Config) any { return c.Explorer.EnvVars["A"] }, map[string]any{"B": 1}},
	} {
		if got := tt.get(load(t, base, tt.override)); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %#v, want %#v", tt.override, got, tt.want)
		}
	}
}

func TestLaterOverrideWins(t *testing.T) {
	if c := load(t, base, "buffer.batch_size=2", "buffer.batch_size=4"); c.Buffer.BatchSize != 4 {
		t.Errorf("batch_size = %d, want 4", c.Buffer.BatchSize)
	}
}

func TestOverridesRefuse(t *testing.T) {
	for _, tt := range []struct{ override, want string }{
		{"batch", `config: override "batch": is not an assignment`},
		{"=3", "is not an assignment"},
		{"a..b=3", "has an empty part"},
		{"a[x=3", "unreadable index"},
		{"a[0]b=3", "text after an index"},
		{"buffer.batchsize=3",
			`override "buffer.batchsize=3": buffer.batchsize: unknown key; did you mean batch_size?`},
		{"buffer.batch_size=x", `override "buffer.batch_size=x": buffer.batch_size: is "x", but needs a whole number`},
		{"buffer.batch_size.x=1", "is a mapping, but needs a whole number"},
		{"model.model_path.x=1", "is a plain value, not a mapping"},
		{"buffer.explorer_input.eval_tasksets[5].path=x", "the list is shorter"},
		{"buffer.explorer_input.eval_tasksets.x=1", "but there is a list"},
		{"model[0]=1", "an index was given"},
		{"name={", "not valid YAML"},
		{"name=", "name: is empty"},
	} {
		_, err := Parse("t.yml", []byte(base), []string{tt.override}, env())
		if err == nil || !strings.Contains("config: "+err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.override, err, tt.want)
		}
	}
}
