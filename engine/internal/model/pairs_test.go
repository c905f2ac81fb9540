package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// Of two keys that say one thing, the one counts that transformers 5.24 takes, or the configuration is refused.
func TestTwoKeysForOneThing(t *testing.T) {
	linear := map[string]any{"rope_type": "linear", "factor": 4}
	plain := map[string]any{"rope_type": "default", "rope_theta": 500}
	gemmaRoPE := map[string]any{"full_attention": plain, "sliding_attention": map[string]any{"rope_theta": 700}}
	type keys = map[string]any
	rope := func(c Config) any { return []any{c.RoPE.Theta, c.RoPE.Linear, c.LocalRoPE.Theta} }
	mistral := []string{"MistralForCausalLM"}
	gemma3 := []string{"Gemma3ForCausalLM"}
	for _, tt := range []struct {
		name    string
		changes keys
		got     func(Config) any
		want    string // of got, or part of the error
	}{
		{"rope_scaling replaces rope_parameters", keys{"rope_parameters": plain, "rope_scaling": linear}, rope,
			"[1e+06 4 0]"},
		{"and its theta", keys{"rope_parameters": plain, "rope_scaling": linear, "rope_theta": nil}, rope,
			"[10000 4 0]"},
		{"an empty rope_scaling does not", keys{"rope_parameters": plain, "rope_scaling": keys{}}, rope, "[500 0 0]"},
		{"rope_theta inside counts", keys{"rope_scaling": keys{"rope_type": "linear", "factor": 2, "rope_theta": 300}},
			rope, "[300 2 0]"},
		{"also if it is wrong", keys{"rope_parameters": keys{"rope_theta": 0}}, rope, "rope_theta = 0"},
		{"rope_type before type", keys{"rope_scaling": keys{"rope_type": "default", "type": "yarn", "factor": 2}}, rope,
			"[1e+06 0 0]"},
		{"gemma: rope_scaling changes full_attention", keys{"architectures": gemma3, "rope_parameters": gemmaRoPE,
			"rope_scaling": linear}, rope, "[500 4 700]"},
		{"gemma: theta inside counts", keys{"architectures": gemma3, "rope_parameters": gemmaRoPE,
			"rope_local_base_freq": 9, "rope_scaling": keys{"rope_theta": 800}}, rope, "[800 0 700]"},
		{"gemma: type alone", keys{"architectures": gemma3, "rope_scaling": keys{"type": "linear", "factor": 2}}, rope,
			"write rope_type"},
		{"gemma: layer_types before the pattern", keys{"architectures": gemma3, "sliding_window_pattern": 1,
			"layer_types": []string{"sliding_attention"}}, func(c Config) any { return c.Sliding }, "[true]"},
		{"gemma: the pattern that is not read", keys{"architectures": gemma3, "_sliding_window_pattern": 1}, rope,
			"_sliding_window_pattern = 1"},
		{"dtype before torch_dtype", keys{"dtype": "float32"}, func(c Config) any { return c.BF16 }, "false"},
		{"architectures and model_type", keys{"model_type": "llama"}, rope, "name different models"},
		{"mistral: layer_types do not stop its window", keys{"architectures": mistral, "sliding_window": 64,
			"layer_types": []string{"full_attention"}}, func(c Config) any { return c.Sliding }, "[true]"},
		{"qwen: a window without a size", keys{"use_sliding_window": true, "max_position_embeddings": 32768}, rope,
			"sliding_window = 4096"},
		{"no size of heads", keys{"architectures": []string{"LlamaForCausalLM"}, "head_dim": 24},
			func(c Config) any { return c.HeadDim }, "24"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parseConfig(edited(t, tt.changes))
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(tt.got(c))
			}
			if got != tt.want && (err == nil || !strings.Contains(got, tt.want)) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A head in the files counts, although config.json says that the embedding is the head, unless it is a copy of it. A
// copy of such a folder says so in its config.json.
func TestTiedWithHead(t *testing.T) {
	_, k := newRunner(t, 1)
	for _, convert := range []func(string, []int, []float32) safetensors.Tensor{safetensors.FromF32,
		safetensors.FromBF16} {
		all := stored(t, convert)
		embed, err := all[0].Floats()
		if all[0].Name != EmbedName || err != nil {
			t.Fatal(all[0].Name, err)
		}
		head := append([]float32(nil), embed...)
		copied := append(all, convert(HeadName, all[0].Shape, head))
		dir := folder(t, map[string][]safetensors.Tensor{SingleFile: copied})
		if c, err := LoadConfig(dir); err != nil || !c.Tied {
			t.Fatalf("a copy of the embedding: %+v, %v", c, err)
		}
		head[len(head)-1] = 3
		copied[len(all)] = convert(HeadName, all[0].Shape, head)
		dir = folder(t, map[string][]safetensors.Tensor{"a.safetensors": copied[:3], "b.safetensors": copied[3:]})
		w, err := Load(dir, alone(k))
		if err != nil || w.Config.Tied {
			t.Fatalf("another head: %+v, %v", w, err)
		}
		last := w.Tensors()[len(w.Tensors())-1]
		if last.Name != HeadName || last.Data[len(head)-1] != 3 {
			t.Errorf("the last tensor is %s, ending with %v", last.Name, last.Data[len(head)-1])
		}
		data, err := FolderConfig(dir)
		if err != nil || !strings.Contains(string(data), `"tie_word_embeddings": false`) {
			t.Errorf("config.json of a copy: %s, %v", data, err)
		}
	}
}
