package config

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

// short is what the user of testdata/saved.yml wrote.
const short = `
algorithm: {algorithm_type: grpo, repeat_times: 4}
model: {model_path: models/tiny, max_model_len: 128}
buffer:
  batch_size: 2
  explorer_input: {taskset: {path: train.jsonl}, default_workflow_type: math_workflow}
  trainer_input: {experience_buffer: {name: experience_buffer}}
`

// A configuration that Trinity-RFT saved is the one that its user wrote.
func TestSavedConfiguration(t *testing.T) {
	root := map[string]any{"checkpoint_root_dir": "/jobs", "checkpoint_job_dir": "/jobs/Trinity-RFT/rft",
		"cluster": map[string]any{"node_num": 1, "total_gpu_num": 8}}
	filled := merged(root, map[string]any{ // by 0.6.0's checks
		"ray_namespace": "Trinity-RFT/rft",
		"algorithm":     map[string]any{"sample_strategy": "default", "kl_loss_fn": "k2"},
		"buffer": map[string]any{"train_batch_size": 8, "cache_dir": "/jobs/Trinity-RFT/rft/buffer",
			"explorer_input": map[string]any{"taskset": map[string]any{"name": "taskset_0", "repeat_times": 4,
				"workflow_args": map[string]any{"checkpoint_job_dir": "/jobs/Trinity-RFT/rft"}}}},
		"explorer": map[string]any{"rollout_model": map[string]any{"top_p": 1.0, "sync_method": "CHECKPOINT"}},
		"trainer":  map[string]any{"trust_remote_code": false},
	})
	for name, laid := range map[string]map[string]any{"as loaded": root, "as checked": filled} {
		t.Run(name, func(t *testing.T) {
			want := load(t, short, "checkpoint_root_dir=/jobs", "cluster.node_num=1", "model.tinker.rank=16")
			got := reload(t, merged(saved(t), laid))
			got.RayNamespace = ""
			if !reflect.DeepEqual(encoded(got), encoded(want)) {
				t.Errorf("it is\n%s\nwant\n%s", got.Resolved(), want.Resolved())
			}
			if notes := got.Notes(); !strings.Contains(notes[0], "written by Trinity-RFT") ||
				!strings.Contains(notes[1], "cluster.node_num") || len(notes) != 2 ||
				strings.Contains(notes[1], "dtype") {
				t.Errorf("notes are %q", notes)
			}
		})
	}
}

// The two configurations of upstream's guide, as they are and as 0.6.0 saves them.
func TestSavedSeeds(t *testing.T) {
	for _, file := range []string{"seed-tinker", "seed-verl-lora"} {
		text, err := os.ReadFile("testdata/" + file + ".good.yml")
		if err != nil {
			t.Fatal(err)
		}
		want := load(t, string(text), "checkpoint_root_dir=/jobs")
		seed := values(t, string(text))
		seed["checkpoint_root_dir"], seed["checkpoint_job_dir"] = "/jobs", "/jobs/p/n"
		all := saved(t)
		all["model"].(map[string]any)["max_model_len"] = nil
		got := reload(t, merged(all, seed))
		if got.Model.Tinker.Rank != 16 { // upstream's default, 32 in its guide and here
			t.Errorf("%s: rank %d, want the 16 that upstream fills in", file, got.Model.Tinker.Rank)
		}
		got.Model.Tinker.Rank = want.Model.Tinker.Rank
		if !reflect.DeepEqual(encoded(got), encoded(want)) {
			t.Errorf("%s is\n%s\nwant\n%s", file, got.Resolved(), want.Resolved())
		}
	}
}

// Lists of sections have defaults too, and an override is somebody's choice.
func TestSavedLists(t *testing.T) {
	root := saved(t)
	in := root["buffer"].(map[string]any)["explorer_input"].(map[string]any)
	in["eval_tasksets"] = []any{in["taskset"]}
	explorer := root["explorer"].(map[string]any)
	explorer["auxiliary_models"] = []any{merged(explorer["rollout_model"].(map[string]any),
		map[string]any{"model_path": "judge"})}
	root["mode"] = "serve"
	root["model"].(map[string]any)["lora_configs"] = []any{map[string]any{"path": "/jobs/dummy_lora", "is_dummy": true}}
	c := reload(t, root, "model.top_k=7")
	if a := c.Explorer.AuxiliaryModels[0]; *a.MaxResponseTokens != 64 || *a.TopK != 7 {
		t.Errorf("the auxiliary model has %d tokens and top_k %d", *a.MaxResponseTokens, *a.TopK)
	}
	if e := c.Buffer.ExplorerInput.EvalTasksets[0]; e.Name != "eval_taskset_0" || *e.RolloutArgs.TopK != 7 {
		t.Errorf("the evaluation is %s with top_k %d", e.Name, *e.RolloutArgs.TopK)
	}
	if c.StartAdapter() != "" || c.Explorer.ListenAddress != "127.0.0.1" {
		t.Errorf("starts from adapter %q and listens at %s", c.StartAdapter(), c.Explorer.ListenAddress)
	}
	if c := reload(t, root, "explorer.listen_address=0.0.0.0"); c.Explorer.ListenAddress != "0.0.0.0" {
		t.Errorf("with an override it listens at %s", c.Explorer.ListenAddress)
	}
}

// saved reads testdata/saved.yml.
func saved(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("testdata/saved.yml")
	if err != nil {
		t.Fatal(err)
	}
	return values(t, string(text))
}

func values(t *testing.T, text string) map[string]any {
	t.Helper()
	root, found := document.Read("test.yml", []byte(text), nil, env(), nil)
	if len(found) > 0 {
		t.Fatal(found.Err())
	}
	return root.Value().(map[string]any)
}

// merged is a mapping with another one laid over it.
func merged(under, over map[string]any) map[string]any {
	out := maps.Clone(under)
	for key, v := range over {
		section, is := v.(map[string]any)
		if below, both := out[key].(map[string]any); is && both {
			v = merged(below, section)
		}
		out[key] = v
	}
	return out
}

// reload loads a mapping.
func reload(t *testing.T, root map[string]any, overrides ...string) *Config {
	t.Helper()
	text, err := json.Marshal(written(root))
	if err != nil {
		t.Fatal(err)
	}
	return load(t, string(text), overrides...)
}

// written is a value with its fractions as they are written: 2.0 is not 2.
func written(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = written(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = written(item)
		}
		return out
	case float64:
		return json.Number(formatFloat(v))
	}
	return v
}

func encoded(c *Config) *document.Node { return encode(reflect.ValueOf(c).Elem()) }
