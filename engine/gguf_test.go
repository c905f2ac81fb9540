package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modeldir"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modelfile"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// speaking is a copy of a family's folder with a tokenizer of some letters.
func speaking(t *testing.T, family string) string {
	t.Helper()
	dir := t.TempDir()
	entries, err := os.ReadDir(familyDir(t, family))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(familyDir(t, family), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(family, "gemma3") && e.Name() == "config.json" { // llama.cpp has no other factor than this
			data = bytes.Replace(data, []byte(`"query_pre_attn_scalar": 20`), []byte(`"query_pre_attn_scalar": 16`), 1)
		}
		if e.Name() == "config.json" && !bytes.Contains(data, []byte("max_position_embeddings")) { // those published do
			data = bytes.Replace(data, []byte(`{`), []byte(`{"max_position_embeddings": 512,`), 1)
		}
		write(t, filepath.Join(dir, e.Name()), data)
	}
	vocab := map[string]int{}
	for id, r := range "abcdefghijklmnopqrstuvwxyzĠ0123456789" {
		vocab[string(r)] = id
	}
	raw, err := json.Marshal(map[string]any{
		"added_tokens":  []any{map[string]any{"id": 60, "content": "<|im_end|>", "special": true}},
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		"decoder":       map[string]any{"type": "ByteLevel"},
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tokenizer.json"), raw)
	write(t, filepath.Join(dir, "tokenizer_config.json"), []byte(`{"eos_token": "<|im_end|>"}`))
	return dir
}

// The merged model as a GGUF file is the merged Hugging Face folder: the same weights to the bit in bf16, and read as a
// folder again the same configuration. An adapter alone has all its matrices, unless it is on a tied head.
func TestWriteGGUF(t *testing.T) {
	for _, tt := range []struct{ base, adapter string }{{"llama32", "llama32-qv"}, {"llama31", "llama31-attn"},
		{"llama32", "llama32-layers"}, {"qwen3", "qwen3-head"}, {"mistral", "mistral-rslora"}, {"qwen25", "qwen25-all"},
		{"llama2", ""}, {"qwen2-t5", ""}, {"qwen3-t5", ""}, {"nemo", ""},
		{"gemma3-t5", ""}, {"gemma3", "gemma3-all"}, {"gemma3-nested", ""}, {"smollm3", ""}, {"granite", ""},
		{"lfm2", "lfm2-all"}, {"qwen35", "qwen35-all"}, {"qwen35-gva", ""}, {"qwen3moe", ""}} {
		if testing.Short() && tt.base != "llama32" {
			continue // for the race detector: the goroutines are the same for every family
		}
		t.Run(tt.base+" "+tt.adapter, func(t *testing.T) {
			g, folder := GGUF{Base: speaking(t, tt.base), Name: tt.base}, ""
			if folder = g.Base; tt.adapter != "" {
				a, err := ReadAdapter(filepath.Join("internal", "model", "testdata", "peft", tt.adapter))
				if err != nil {
					t.Fatal(err)
				}
				g.Adapter, folder = &a, filepath.Join(t.TempDir(), "merged")
				if _, err := Merge(g.Base, a, folder, ""); err != nil {
					t.Fatal(err)
				}
				adapterAlone(t, g, map[string]string{"qwen3-head": "is on lm_head",
					"qwen35-all": "several additions to model.layers."}[tt.adapter])
			}
			path := filepath.Join(t.TempDir(), "new", "x.gguf")
			if _, _, err := g.Write(modelfile.BF16, path); err != nil {
				t.Fatal(err)
			}
			again := t.TempDir()
			f, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := modeldir.Write(f, again); err != nil {
				t.Fatal(err)
			}
			got, want := stored(t, again), stored(t, folder)
			for name, w := range want {
				if !slices.Equal(got[name], w) {
					t.Errorf("%s is another than in the merged folder", name)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d tensors, want %d", len(got), len(want))
			}
			sameConfig(t, again, folder)
			_, _, err = g.Write(modelfile.BF16, path)
			if err == nil || !strings.Contains(err.Error(), "exists already") {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

// sameConfig compares the configurations of two folders in what a GGUF file says of a model: not the type of the
// weights, which is bf16 again, nor whether others were around it or a Llama is called Mistral; and the other folder
// names special tokens that the tokenizer here lacks.
func sameConfig(t *testing.T, got, want string) {
	t.Helper()
	var both [2]model.Config
	for i, dir := range []string{got, want} {
		c, err := model.LoadConfig(dir)
		if err != nil {
			t.Fatal(err)
		}
		c.MXFP4 = false
		if c.BF16, c.EOS, c.BOS, c.Wrapped = false, nil, nil, false; c.Arch.Type == "mistral" {
			c.Arch.Name, c.Arch.Type, c.Arch.Windows = "LlamaForCausalLM", "llama", 0
		}
		both[i] = c
	}
	if !reflect.DeepEqual(both[0], both[1]) {
		t.Errorf("the configuration is\n%+v, want\n%+v", both[0], both[1])
	}
}

// A Gemma that llama.cpp would compute in another way is refused: this one has another factor of the queries.
func TestGGUFRefusesGemma(t *testing.T) {
	dir := speaking(t, "gemma3")
	config, err := os.ReadFile(filepath.Join(familyDir(t, "gemma3"), "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "config.json"), config)
	_, _, err = GGUF{Base: dir, Name: "x"}.Write(modelfile.F16, filepath.Join(t.TempDir(), "x.gguf"))
	if err == nil || !strings.Contains(err.Error(), "query_pre_attn_scalar 20 cannot be written") {
		t.Errorf("another factor: %v", err)
	}
}

// What a file of its family cannot say is refused: llama.cpp would compute another model.
func TestGGUFRefusesShapes(t *testing.T) {
	for family, want := range map[string]string{"mistral-window": "sliding_window = ",
		"ministral3": `family "ministral3"`, "phi4mini": `family "phi3"`} {
		_, _, err := GGUF{Base: speaking(t, family), Name: "x"}.Write(modelfile.F16, filepath.Join(t.TempDir(), "x"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "as GGUF") {
			t.Errorf("%s: %v, want %s", family, err, want)
		}
	}
	for _, tt := range []struct{ family, key, value, want string }{
		{"llama2", "rope_scaling", `{"rope_type": "yarn", "factor": 4}`,
			"rope_type yarn in a model of the family llama cannot"},
		{"smollm3", "no_rope_layers", `[1, 0, 1, 0]`,
			"no_rope_layers that are not every fourth ([false true false true])"},
		{"qwen3moe", "norm_topk_prob", `false`, "norm_topk_prob = false in a model of the family qwen3_moe"},
		{"qwen3moe-mixed", "norm_topk_prob", `true`, "layers without experts"},
		{"gptoss", "swiglu_limit", `6`, "swiglu_limit = 6"},
		{"gptoss", "layer_types", `["full_attention", "sliding_attention"]`, "layer_types that do not alternate"},
		{"gptoss", "rope_scaling", `{"rope_type": "yarn", "factor": 4}`, "truncate"},
	} {
		dir := speaking(t, tt.family)
		path := filepath.Join(dir, "config.json")
		data, err := os.ReadFile(path)
		var config map[string]json.RawMessage
		if err = errors.Join(err, json.Unmarshal(data, &config)); err != nil {
			t.Fatal(err)
		}
		config[tt.key] = json.RawMessage(tt.value)
		if data, err = json.Marshal(config); err != nil {
			t.Fatal(err)
		}
		write(t, path, data)
		_, _, err = GGUF{Base: dir, Name: "x"}.Write(modelfile.F16, filepath.Join(t.TempDir(), "x.gguf"))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.key, err)
		}
	}
}

// A dense Granite 4 becomes what Granite 3 is in a file: gate and up are apart.
func TestGranite4GGUF(t *testing.T) {
	base, back := speaking(t, "granite4"), t.TempDir()
	path := filepath.Join(t.TempDir(), "x.gguf")
	if _, _, err := (GGUF{Base: base, Name: "x"}).Write(modelfile.BF16, path); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := modeldir.Write(f, back); err != nil {
		t.Fatal(err)
	}
	got, want := stored(t, back), stored(t, base)
	const at = "model.layers.1."
	both := slices.Concat(got[at+"mlp.gate_proj.weight"], got[at+"mlp.up_proj.weight"])
	if len(both) == 0 || !slices.Equal(both, want[at+"shared_mlp.input_linear.weight"]) ||
		!slices.Equal(got[at+"mlp.down_proj.weight"], want[at+"shared_mlp.output_linear.weight"]) {
		t.Error("the MLP is another")
	}
	c, err := model.LoadConfig(back)
	if err != nil || c.EmbedScale != 12 || c.ResidualScale != 0.263 || c.LogitScale != 0.25 || c.QueryScalar != 256 {
		t.Errorf("%+v, %v", c, err)
	}
}

// adapterAlone writes the adapter; refused tells whether it is on the head of a tied model.
func adapterAlone(t *testing.T, g GGUF, refused string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lora.gguf")
	_, err := g.WriteAdapter(path)
	if refused != "" {
		if err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("an adapter that llama.cpp cannot load: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	alpha, _, err := f.Metadata.Float("adapter.lora.alpha")
	if err != nil || float32(alpha) != float32(g.Adapter.Alpha) {
		t.Errorf("alpha %v, want %v: %v", alpha, g.Adapter.Alpha, err)
	}
	if n := len(g.Adapter.peft.Tensors); len(f.Tensors) != n {
		t.Errorf("%d tensors, want %d", len(f.Tensors), n)
	}
}

// stored are the tensors of a folder's text in bf16.
func stored(t *testing.T, dir string) map[string][]uint16 {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "model*.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]uint16{}
	for _, path := range paths {
		f, err := safetensors.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range f.Tensors() {
			data, err := x.Floats()
			if err != nil {
				t.Fatal(err)
			}
			name, text := model.TextName(x.Name)
			for _, v := range data {
				if text {
					all[name] = append(all[name], gguf.ToBF16(v))
				}
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// A file that is stopped anywhere is complete or absent, and the next try succeeds. A full disk is named, with a way
// out.
func TestGGUFSurvivesEveryCrash(t *testing.T) {
	g := GGUF{Base: speaking(t, "qwen3"), Name: "x"}
	path := filepath.Join(t.TempDir(), "x.gguf")
	for stop := 1; ; stop++ {
		_, _, err := g.write(&disktest.Crash{FS: disk.OS(), At: stop}, modelfile.Q8, path)
		if _, there := os.Stat(path); there == nil {
			f, err := gguf.Open(path)
			if err != nil {
				t.Fatalf("stopped at operation %d: %v", stop, err)
			}
			if err := errors.Join(f.Close(), os.Remove(path)); err != nil {
				t.Fatal(err)
			}
		} else if err == nil {
			t.Fatal("no file and no error")
		}
		if err == nil {
			if stop < 6 {
				t.Errorf("a file of %d operations", stop)
			}
			break
		}
	}
	_, _, err := g.write(full{disk.OS()}, modelfile.Q8, path)
	if err == nil || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("a full disk: %v", err)
	}
	if rest, err := filepath.Glob(path + "*"); err != nil || len(rest) > 0 {
		t.Errorf("%q are left: %v", rest, err)
	}
}

// full is a disk without space.
type full struct{ disk.FS }

func (f full) Create(path string) (disk.File, error) {
	file, err := f.FS.Create(path)
	return noSpace{file}, err
}

type noSpace struct{ disk.File }

func (noSpace) Write([]byte) (int, error) { return 0, fmt.Errorf("writing: %w", syscall.ENOSPC) }

// A model with a weight that is no number is refused by the tensor's name and leaves nothing.
func TestGGUFRefusesDamage(t *testing.T) {
	dir := speaking(t, "qwen3")
	path := filepath.Join(dir, "model.safetensors")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	nan := uint16(math.Float32bits(float32(math.NaN())) >> 16)
	data[len(data)-1], data[len(data)-2] = byte(nan>>8), byte(nan)
	write(t, path, data)
	out := filepath.Join(t.TempDir(), "x.gguf")
	_, _, err = GGUF{Base: dir, Name: "x"}.Write(modelfile.F16, out)
	if err == nil || !strings.Contains(err.Error(), "is NaN; the model is damaged") {
		t.Errorf("a damaged model: %v", err)
	}
	if rest, err := filepath.Glob(out + "*"); err != nil || len(rest) > 0 {
		t.Errorf("%q are left: %v", rest, err)
	}
}
