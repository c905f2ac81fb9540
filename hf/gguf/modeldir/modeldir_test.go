package modeldir

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// folder writes a model's file and then its folder.
func folder(t *testing.T, m gguftest.Model) (dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "m.gguf")
	m.Write(t, path)
	f, err := gguf.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return dir, Write(f, dir)
}

// llama3 are the divisors of Llama 3's scaling for theta 10,000 and factor 8.
func llama3() []float32 {
	out := make([]float32, gguftest.HeadDim/2)
	for i := range out {
		wave := 2 * math.Pi * math.Pow(10000, float64(i)*2/gguftest.HeadDim)
		switch {
		case wave < 8192/4:
			out[i] = 1
		case wave > 8192:
			out[i] = 8
		default:
			smooth := (8192/wave - 1) / 3
			out[i] = float32(1 / ((1-smooth)/8 + smooth))
		}
	}
	return out
}

// The folder has the tensors that the file was made of: names, shapes and values rounded to bf16, with the rows of q
// and k in Hugging Face's order.
func TestWrite(t *testing.T) {
	for name, m := range map[string]gguftest.Model{
		"llama":                   {Arch: "llama"},
		"llama, tied":             {Arch: "llama", Tied: true},
		"llama in bf16":           {Arch: "llama", Type: gguf.BF16},
		"llama in Q8_0":           {Arch: "llama", Type: gguf.Q8_0},
		"llama, q, k and v fused": {Arch: "llama", Fused: true, Type: gguf.Q8_0},
		"qwen2":                   {Arch: "qwen2", Tied: true},
		"qwen2, fused":            {Arch: "qwen2", Fused: true},
		"qwen3":                   {Arch: "qwen3"},
		"qwen3moe":                {Arch: "qwen3moe"},
		"qwen3moe in Q8_0":        {Arch: "qwen3moe", Type: gguf.Q8_0},
		"qwen3moe, fused":         {Arch: "qwen3moe", Fused: true},
		"gemma3":                  {Arch: "gemma3", Tied: true},
		"gemma3 in Q8_0":          {Arch: "gemma3", Tied: true, Type: gguf.Q8_0},
		"qwen3, tied, in F16":     {Arch: "qwen3", Tied: true, Type: gguf.F16},
		"heads per layer": {Arch: "llama", Keys: []gguf.Pair{{Key: "llama.attention.head_count_kv",
			Value: []int32{gguftest.KVHeads, gguftest.KVHeads}}}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := folder(t, m)
			if err != nil {
				t.Fatal(err)
			}
			checkTensors(t, m, dir)
			kind := m.Arch
			switch kind {
			case "gemma3":
				kind = "gemma3_text"
			case "qwen3moe":
				kind = "qwen3_moe"
			}
			if c := readJSON(t, dir, "config.json"); c["tie_word_embeddings"] != m.Tied || c["model_type"] != kind ||
				c["head_dim"] != float64(gguftest.HeadDim) || c["rope_scaling"] != nil ||
				c["rms_norm_eps"] != 1e-5 {
				t.Errorf("config.json is %v", c)
			}
		})
	}
}

func checkTensors(t *testing.T, m gguftest.Model, dir string) {
	t.Helper()
	f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := m.Tensors()
	if len(f.Tensors()) != len(want) {
		t.Errorf("%d tensors, want %d", len(f.Tensors()), len(want))
	}
	for _, w := range want {
		got, err := f.Tensor(w.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got.DType != safetensors.BF16 || len(got.Shape) != len(w.Shape) || int64(got.Shape[0]) != w.Shape[0] {
			t.Fatalf("%s is %v %v, want bf16 %v", w.Name, got.DType, got.Shape, w.Shape)
		}
		values := stored(t, m, w)
		for i, bits := range got.Bits() {
			if bits != gguf.ToBF16(values[i]) {
				t.Fatalf("%s: element %d is %04x, want %04x", w.Name, i, bits, gguf.ToBF16(values[i]))
			}
		}
	}
}

// stored are a tensor's values as the file has them.
func stored(t *testing.T, m gguftest.Model, w gguftest.Tensor) []float32 {
	t.Helper()
	size := map[gguf.Type]int{gguf.F32: 4, gguf.F16: 2, gguf.BF16: 2}[m.Type] * len(w.Data)
	if m.Type == gguf.Q8_0 {
		size = len(w.Data) / 32 * 34
	}
	if len(w.Shape) == 1 || m.Type == gguf.F32 {
		return w.Data
	}
	raw, out := make([]byte, size), make([]float32, len(w.Data))
	if err := gguf.Narrow(m.Type, raw, w.Data); err != nil {
		t.Fatal(err)
	}
	if err := gguf.Widen(m.Type, out, raw); err != nil {
		t.Fatal(err)
	}
	return out
}

func readJSON(t *testing.T, dir, name string) (v map[string]any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Scaled RoPE comes from keys, or from the tensor with Llama 3's divisors.
func TestScaling(t *testing.T) {
	for name, tt := range map[string]struct {
		model gguftest.Model
		want  map[string]any
	}{
		"llama3": {gguftest.Model{Arch: "llama", RoPE: llama3()}, map[string]any{"rope_type": "llama3", "factor": 8.0,
			"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192.0}},
		"linear": {gguftest.Model{Arch: "qwen2", Keys: []gguf.Pair{
			{Key: "qwen2.rope.scaling.type", Value: "linear"},
			{Key: "qwen2.rope.scaling.factor", Value: float32(4)}}},
			map[string]any{"rope_type": "linear", "factor": 4.0}},
		"the old key": {gguftest.Model{Arch: "llama", Keys: []gguf.Pair{
			{Key: "llama.rope.scale_linear", Value: float32(2)}}},
			map[string]any{"rope_type": "linear", "factor": 2.0}},
		"none": {gguftest.Model{Arch: "llama", Keys: []gguf.Pair{{Key: "llama.rope.scaling.type", Value: "none"},
			{Key: "llama.rope.scaling.factor", Value: float32(4)}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := folder(t, tt.model)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := readJSON(t, dir, "config.json")["rope_scaling"].(map[string]any)
			if !maps.Equal(got, tt.want) {
				t.Errorf("rope_scaling is %v, want %v", got, tt.want)
			}
		})
	}
}

// What is not computed is refused before anything is written: the error names the file, what it is, and a remedy.
func TestRefused(t *testing.T) {
	key := func(name string, value any) []gguf.Pair { return []gguf.Pair{{Key: name, Value: value}} }
	odd := llama3()
	odd[3] = 5
	for _, tt := range []struct {
		want  string
		model gguftest.Model
	}{
		{`general.architecture is "gemma2", which is not supported; supported are gemma3, gpt-oss, granite, lfm2, ` +
			`llama, qwen2, qwen3, qwen35, qwen3moe, smollm3`,
			gguftest.Model{Arch: "llama", Keys: key("general.architecture", "gemma2")}},
		{`general.type is "adapter": the file is not a model`,
			gguftest.Model{Arch: "llama", Keys: key("general.type", "adapter")}},
		{"the key llama.block_count is missing", gguftest.Model{Arch: "llama", Keys: key("llama.block_count", nil)}},
		{"the key llama.block_count is 0; it must be 1 to 512",
			gguftest.Model{Arch: "llama", Keys: key("llama.block_count", uint32(0))}},
		{"key llama.block_count is a string; it must be an integer",
			gguftest.Model{Arch: "llama", Keys: key("llama.block_count", "two")}},
		{"llama.feed_forward_length has other values for some layers",
			gguftest.Model{Arch: "llama", Keys: key("llama.feed_forward_length", []int32{96, 64})}},
		{"rope.dimension_count is not the width of a head, 16",
			gguftest.Model{Arch: "llama", Keys: key("llama.rope.dimension_count", uint32(8))}},
		{"models with experts are not supported",
			gguftest.Model{Arch: "llama", Keys: key("llama.expert_count", uint32(8))}},
		{"the key qwen3moe.expert_used_count is missing",
			gguftest.Model{Arch: "qwen3moe", Keys: key("qwen3moe.expert_used_count", nil)}},
		{"tensor blk.0.ffn_gate_exps.weight has the shape [6 96 64]; the metadata say [6 48 64]",
			gguftest.Model{Arch: "qwen3moe", Keys: key("qwen3moe.expert_feed_forward_length", uint32(48))}},
		{`llama.rope.scaling.type is "yarn", which is not supported; none, linear and Llama 3's`,
			gguftest.Model{Arch: "llama", Keys: key("llama.rope.scaling.type", "yarn")}},
		{`llama.rope.scaling.type is "longrope"`,
			gguftest.Model{Arch: "llama", Keys: key("llama.rope.scaling.type", "longrope")}},
		{"attn_factor is 2, which is not supported",
			gguftest.Model{Arch: "llama", Keys: key("llama.rope.scaling.attn_factor", float32(2))}},
		{"tensor rope_freqs.weight scales frequency 3 by 5", gguftest.Model{Arch: "llama", RoPE: odd}},
		{"tensor rope_freqs.weight has the shape [3]; it must be [8]",
			gguftest.Model{Arch: "llama", RoPE: []float32{1, 1, 8}}},
		{"tensor blk.1.ffn_up.weight is missing", gguftest.Model{Arch: "llama",
			Only: func(name string) bool { return name != "blk.1.ffn_up.weight" }}},
		{"tensor blk.0.attn_q_norm.weight does not belong to the architecture llama", gguftest.Model{Arch: "qwen3",
			Keys: append(asLlama(), key("general.architecture", "llama")...)}},
		{"tensor token_embd.weight has the shape [266 64]; the metadata say [266 32]", gguftest.Model{Arch: "llama",
			Keys: key("llama.embedding_length", uint32(32))}},
		{`tokenizer.ggml.model is "bert", which is not supported; supported are gpt2`,
			gguftest.Model{Arch: "llama", Keys: key("tokenizer.ggml.model", "bert")}},
		{`tokenizer.ggml.pre is "kimi-k2", which is not supported; download a newer file of the model`,
			gguftest.Model{Arch: "llama", Keys: key("tokenizer.ggml.pre", "kimi-k2")}},
		{"the file does not say how its tokenizer cuts words",
			gguftest.Model{Arch: "llama", Keys: key("tokenizer.ggml.pre", nil)}},
		{`merge 0 is "th"; it must be two parts`,
			gguftest.Model{Arch: "llama", Keys: key("tokenizer.ggml.merges", []string{"th"})}},
		{"the file's tokenizer cannot be used", gguftest.Model{Arch: "llama",
			Keys: key("tokenizer.ggml.merges", []string{"q q"})}},
		{"tokenizer.ggml.token_type has 1 entries for 266 tokens",
			gguftest.Model{Arch: "llama", Keys: key("tokenizer.ggml.token_type", []int32{1})}},
		{"tokenizer.ggml.eos_token_id is 999, and there are 266 tokens",
			gguftest.Model{Arch: "llama", Keys: key("tokenizer.ggml.eos_token_id", uint32(999))}},
		{"the key tokenizer.ggml.tokens is missing",
			gguftest.Model{Arch: "llama", Keys: key("tokenizer.ggml.tokens", nil)}},
	} {
		t.Run(tt.want, func(t *testing.T) {
			dir, err := folder(t, tt.model)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "m.gguf") {
				t.Fatalf("got %v, want %q and the file's name", err, tt.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "config.json")); err == nil {
				t.Error("config.json was written")
			}
		})
	}
}

// asLlama are the keys of a Llama of the same shape.
func asLlama() []gguf.Pair {
	return slices.DeleteFunc(gguftest.Model{Arch: "llama"}.Pairs(),
		func(p gguf.Pair) bool { return !strings.HasPrefix(p.Key, "llama.") })
}
