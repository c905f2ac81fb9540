package modeldir

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/internal/layout"
)

// family is an architecture of GGUF in Hugging Face's terms.
type family struct {
	class, kind string // architectures and model_type of config.json
	permuted    bool   // the converter reorders rows of q and k, as RoPE turns neighbours there
}

// families are the architectures that are read.
func families() map[string]family {
	return map[string]family{
		"llama": {"LlamaForCausalLM", "llama", true}, // Mistral's too: nothing tells them apart
		"qwen2": {"Qwen2ForCausalLM", "qwen2", false},
		"qwen3": {"Qwen3ForCausalLM", "qwen3", false},

		"qwen3moe": {"Qwen3MoeForCausalLM", layout.Qwen3MoE, false},
		// the vision part of larger models is a separate file
		"gemma3":  {"Gemma3ForCausalLM", layout.Gemma3, false},
		"smollm3": {"SmolLM3ForCausalLM", "smollm3", true},
		"granite": {"GraniteForCausalLM", "granite", true}, // also Granite 4.0 without experts and Mamba layers
		"lfm2":    {"Lfm2ForCausalLM", layout.LFM2, false},
		"qwen35":  {"Qwen3_5ForCausalLM", layout.Qwen35, false},
		"gpt-oss": {"GptOssForCausalLM", layout.GptOss, false},
	}
}

// shape is the shape of a model, from the metadata.
type shape struct {
	family
	vocab, dim, layers, heads, kvHeads, headDim, ff, context int64
	eps, theta                                               float64
	scaling                                                  map[string]any // rope_scaling; nil: none
	tied                                                     bool
	bos                                                      *int64
	eos                                                      []int64        // what ends an answer
	gemma                                                    *gemma3        // nil: of another family
	experts, used, expertFF                                  int64          // of qwen3moe and gpt-oss
	window                                                   int64          // of gpt-oss
	mxfp4                                                    bool           // all of gpt-oss's experts are in it
	granite                                                  map[string]any // keys of Granite alone
	recurrent                                                []bool         // by layer; nil: none is
	taps, rotated                                            int64          // of convolutions; of a head
	delta                                                    layout.Delta
}

// tied reports whether the head is the embedding: then the file has no output.weight.
func tied(f *gguf.File) bool {
	_, own := f.Tensor("output.weight")
	return !own
}

// reader reads keys of one architecture and keeps the first error.
type reader struct {
	m    gguf.Metadata
	arch string
	err  error
}

// int reads an integer of 1 to most; without the key it is or, and an error if or is 0. A list with one value for each
// layer is that value, if they are equal.
func (r *reader) int(key string, most, or int64) int64 {
	n, ok, err := r.m.Int(r.arch + "." + key)
	if list, _, bad := r.m.Ints(r.arch + "." + key); bad == nil && len(list) > 0 {
		n, err = list[0], nil
		if slices.ContainsFunc(list, func(v int64) bool { return v != n }) {
			err = fmt.Errorf("the key %s.%s has other values for some layers, which is not supported; choose a model "+
				"whose layers are alike", r.arch, key)
		}
	}
	switch {
	case r.err != nil:
	case err != nil:
		r.err = err
	case !ok && or == 0:
		r.err = fmt.Errorf("the key %s.%s is missing; convert the model again", r.arch, key)
	case !ok:
		return or
	case n < 1 || n > most:
		r.err = fmt.Errorf("the key %s.%s is %d; it must be 1 to %d", r.arch, key, n, most)
	}
	return max(n, 1)
}

// float reads a positive number; without the key it is or, and an error if or is 0.
func (r *reader) float(key string, or float64) float64 {
	x, ok, err := r.m.Float(r.arch + "." + key)
	switch {
	case r.err != nil:
	case err != nil:
		r.err = err
	case !ok && or == 0:
		r.err = fmt.Errorf("the key %s.%s is missing; convert the model again", r.arch, key)
	case !ok:
		return or
	case x <= 0:
		r.err = fmt.Errorf("the key %s.%s is %v; it must be positive", r.arch, key, x)
	}
	return x
}

// readShape reads the keys of an architecture. Limits are llama.cpp's, and generous.
func readShape(m gguf.Metadata, tied bool) (shape, error) {
	if kind, ok, err := m.Text("general.type"); err != nil || ok && kind != "model" {
		return shape{}, errors.Join(err, fmt.Errorf("general.type is %q: the file is not a model; name the file of "+
			"the model itself", kind))
	}
	arch, _, err := m.Text("general.architecture")
	if err != nil {
		return shape{}, err
	}
	fam, known := families()[arch]
	if !known {
		return shape{}, fmt.Errorf("general.architecture is %q, which is not supported; supported are %s (Mistral's "+
			"files say llama)", arch, strings.Join(slices.Sorted(maps.Keys(families())), ", "))
	}
	r := &reader{m: m, arch: arch}
	s := shape{family: fam, tied: tied}
	s.layers, s.dim = r.int("block_count", 512, 0), r.int("embedding_length", 1<<20, 0)
	s.heads = r.int("attention.head_count", 1<<14, 0)
	if s.kind == layout.LFM2 {
		s.readConvolutions(r)
	} else {
		s.kvHeads = r.int("attention.head_count_kv", 1<<14, s.heads)
	}
	s.headDim = r.int("attention.key_length", 1<<14, max(1, s.dim/s.heads))
	s.ff, s.context = r.int("feed_forward_length", 1<<24, 0), r.int("context_length", 1<<31, 0)
	s.eps, s.theta = r.float("attention.layer_norm_rms_epsilon", 0), r.float("rope.freq_base", 10000)
	if r.err != nil {
		return s, r.err
	}
	return s, s.finish(r)
}

// finish reads what the other keys decide, and refuses what is not computed.
func (s *shape) finish(r *reader) error {
	tokens, _, err := r.m.Texts("tokenizer.ggml.tokens")
	s.vocab, s.rotated = int64(len(tokens)), r.int("rope.dimension_count", 1<<14, s.headDim)
	s.ends(r)
	switch value := r.int("attention.value_length", 1<<14, s.headDim); {
	case err != nil || r.err != nil:
		return errors.Join(err, r.err)
	case s.vocab == 0:
		return errors.New("the key tokenizer.ggml.tokens is missing or empty; the file has no tokenizer")
	case s.heads%s.kvHeads != 0 || s.headDim%2 != 0 || value != s.headDim:
		return fmt.Errorf("%d heads with %d for keys, of width %d and %d, are not supported", s.heads, s.kvHeads,
			s.headDim, value)
	case s.rotated != s.headDim && s.kind != layout.Qwen35:
		return fmt.Errorf("the key %s.rope.dimension_count is not the width of a head, %d; that RoPE turns only a "+
			"part of a head is not supported", r.arch, s.headDim)
	case s.kind == layout.Qwen3MoE || s.kind == layout.GptOss:
		s.experts, s.used = r.int("expert_count", 1<<12, 0), r.int("expert_used_count", 1<<12, 0)
		s.expertFF = r.int("expert_feed_forward_length", 1<<24, 0)
	case r.m.Has(r.arch + ".expert_count"):
		if n, _, err := r.m.Int(r.arch + ".expert_count"); err != nil || n > 0 {
			return errors.Join(err, errors.New("models with experts are not supported"))
		}
	}
	switch s.kind {
	case layout.Gemma3:
		s.readGemma(r)
	case layout.Qwen35:
		s.readDelta(r)
	case "granite":
		s.readGranite(r)
	case layout.GptOss:
		s.readSinks(r)
	}
	return errors.Join(r.err, s.readScaling(r))
}

// ends reads the token that begins a text, and those that end one: the end of a text, and of a turn.
func (s *shape) ends(r *reader) {
	read := func(name string) (id *int64) {
		n, ok, err := tokenID(r.m, name)
		if err != nil && r.err == nil {
			r.err = err
		}
		if !ok || err != nil {
			return nil
		}
		return &n
	}
	s.bos = read("bos")
	for _, name := range []string{"eos", "eot"} {
		if id := read(name); id != nil {
			s.endAt([]int64{*id})
		}
	}
}

// endAt adds tokens that end an answer.
func (s *shape) endAt(ids []int64) {
	for _, id := range ids {
		if !slices.Contains(s.eos, id) {
			s.eos = append(s.eos, id)
		}
	}
}

// config is config.json.
func (s *shape) config() map[string]any {
	c := map[string]any{"architectures": []string{s.class}, "model_type": s.kind, "vocab_size": s.vocab,
		"hidden_size": s.dim, "num_hidden_layers": s.layers, "num_attention_heads": s.heads,
		"num_key_value_heads": s.kvHeads, "head_dim": s.headDim, "intermediate_size": s.ff,
		"max_position_embeddings": s.context, "rms_norm_eps": float32(s.eps), "rope_theta": s.theta,
		"rope_scaling": s.scaling,
		"hidden_act":   "silu", "tie_word_embeddings": s.tied, "torch_dtype": "bfloat16",
		"bos_token_id": s.bos, "eos_token_id": nil}
	switch s.kind {
	case layout.Gemma3:
		s.gemma.configure(c)
	case layout.LFM2, layout.Qwen35:
		s.configureRecurrent(c)
	case "granite":
		maps.Copy(c, s.granite)
	case layout.GptOss:
		s.configureSinks(c)
		return s.endedBy(c)
	}
	if s.experts > 0 { // llama.cpp norms the weights
		c["num_experts"], c["num_experts_per_tok"], c["moe_intermediate_size"] = s.experts, s.used, s.expertFF
		c["norm_topk_prob"], c["decoder_sparse_step"], c["mlp_only_layers"] = true, 1, []int{}
	}
	return s.endedBy(c)
}

// endedBy adds the tokens that end an answer.
func (s *shape) endedBy(c map[string]any) map[string]any {
	switch len(s.eos) {
	case 0:
	case 1:
		c["eos_token_id"] = s.eos[0]
	default:
		c["eos_token_id"] = s.eos
	}
	return c
}
