package modeldir

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// family is what an architecture of GGUF is in Hugging Face's terms.
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
	}
}

// shape is what the metadata say of a model.
type shape struct {
	family
	vocab, dim, layers, heads, kvHeads, headDim, ff, context int64
	eps, theta                                               float64
	scaling                                                  map[string]any // rope_scaling; nil: none
	tied                                                     bool
	bos, eos                                                 *int64
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

// int reads an integer of 1 to most; without the key it is or, and an error if or is 0.
func (r *reader) int(key string, most, or int64) int64 {
	n, ok, err := r.m.Int(r.arch + "." + key)
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
		return shape{}, errors.Join(err, fmt.Errorf("general.type is %q: the file is not a model", kind))
	}
	arch, _, err := m.Text("general.architecture")
	if err != nil {
		return shape{}, err
	}
	fam, known := families()[arch]
	if !known {
		return shape{}, fmt.Errorf("general.architecture is %q, which is not supported; supported are %s", arch,
			strings.Join(slices.Sorted(maps.Keys(families())), ", "))
	}
	r := &reader{m: m, arch: arch}
	s := shape{family: fam, tied: tied}
	s.layers, s.dim = r.int("block_count", 512, 0), r.int("embedding_length", 1<<20, 0)
	s.heads = r.int("attention.head_count", 1<<14, 0)
	s.kvHeads = r.int("attention.head_count_kv", 1<<14, s.heads)
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
	s.vocab = int64(len(tokens))
	s.bos, s.eos = r.id("bos_token_id"), r.id("eos_token_id")
	switch value := r.int("attention.value_length", 1<<14, s.headDim); {
	case err != nil || r.err != nil:
		return errors.Join(err, r.err)
	case s.vocab == 0:
		return errors.New("the key tokenizer.ggml.tokens is missing or empty; the file has no tokenizer")
	case s.heads%s.kvHeads != 0 || s.headDim%2 != 0 || value != s.headDim:
		return fmt.Errorf("%d heads with %d for keys, of width %d and %d, are not supported", s.heads, s.kvHeads,
			s.headDim, value)
	case r.int("rope.dimension_count", 1<<14, s.headDim) != s.headDim:
		return fmt.Errorf("the key %s.rope.dimension_count is not the width of a head, %d", r.arch, s.headDim)
	case r.m.Has(r.arch + ".expert_count"):
		if n, _, err := r.m.Int(r.arch + ".expert_count"); err != nil || n > 0 {
			return errors.Join(err, errors.New("models with experts are not supported"))
		}
	}
	return errors.Join(r.err, s.readScaling(r))
}

// id reads a token id of the tokenizer; nil if there is none.
func (r *reader) id(key string) *int64 {
	n, ok, err := r.m.Int("tokenizer.ggml." + key)
	if err != nil && r.err == nil {
		r.err = err
	}
	if !ok || err != nil {
		return nil
	}
	return &n
}

// readScaling reads how RoPE is scaled. Llama 3's way is a tensor, see llama3.
func (s *shape) readScaling(r *reader) error {
	prefix := r.arch + ".rope.scaling."
	kind, ok, err := r.m.Text(prefix + "type")
	factor := r.float("rope.scaling.factor", r.float("rope.scale_linear", 1))
	switch {
	case err != nil || r.err != nil:
		return errors.Join(err, r.err)
	case kind == "none" || (!ok || kind == "linear") && factor == 1:
	case !ok || kind == "linear":
		s.scaling = map[string]any{"rope_type": "linear", "factor": factor}
	default:
		return fmt.Errorf("the key %stype is %q, which is not supported; linear and Llama 3's are", prefix, kind)
	}
	return nil
}

// readFactors reads rope_freqs.weight, if the file has it.
func readFactors(f *gguf.File, s *shape) error {
	t, ok := f.Tensor("rope_freqs.weight")
	if !ok {
		return nil
	}
	if len(t.Shape) != 1 || t.Shape[0] != s.headDim/2 {
		return fmt.Errorf("tensor rope_freqs.weight has the shape %v; it must be [%d]", t.Shape, s.headDim/2)
	}
	divisors := make([]float32, s.headDim/2)
	if err := f.Floats(t, divisors, 0); err != nil {
		return err
	}
	return s.llama3(divisors)
}

// llama3 reads Llama 3's scaling back from the divisors of the frequencies, rope_freqs.weight. The published models
// have low_freq_factor 1, high_freq_factor 4 and 8192 positions; other values are refused, as the divisors then differ.
func (s *shape) llama3(divisors []float32) error {
	const low, high, original = 1.0, 4.0, 8192.0
	factor := float64(slices.Max(divisors))
	for i, have := range divisors {
		frequency := math.Pow(s.theta, -2*float64(i)/float64(s.headDim))
		want, wave := 1.0, 2*math.Pi/frequency
		switch {
		case wave > original/low:
			want = factor
		case wave >= original/high:
			t := (original/wave - low) / (high - low)
			want = 1 / (float64((1-t)/factor) + t)
		}
		if math.Abs(want-float64(have)) > 1e-4*want {
			return fmt.Errorf("tensor rope_freqs.weight scales frequency %d by %v, and Llama 3's way gives %v; such "+
				"scaling is not supported", i, have, want)
		}
	}
	s.scaling = map[string]any{"rope_type": "llama3", "factor": factor, "low_freq_factor": low,
		"high_freq_factor":                 high,
		"original_max_position_embeddings": int64(original)}
	return nil
}

// config is config.json.
func (s *shape) config() map[string]any {
	c := map[string]any{"architectures": []string{s.class}, "model_type": s.kind, "vocab_size": s.vocab,
		"hidden_size": s.dim, "num_hidden_layers": s.layers, "num_attention_heads": s.heads,
		"num_key_value_heads": s.kvHeads, "head_dim": s.headDim, "intermediate_size": s.ff,
		"max_position_embeddings": s.context, "rms_norm_eps": float32(s.eps), "rope_theta": s.theta,
		"rope_scaling": s.scaling,
		"hidden_act":   "silu", "tie_word_embeddings": s.tied, "torch_dtype": "bfloat16",
		"bos_token_id": s.bos, "eos_token_id": s.eos}
	return c
}
