package modelfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/internal/layout"
)

// Shape is the shape of a model, from config.json.
type Shape struct {
	Family  string // model_type, such as llama or gemma3_text
	Vocab   int    // rows of the embedding
	Dim     int
	Layers  int
	Heads   int
	KVHeads int
	HeadDim int
	FF      int
	Context int // positions
	Eps     float32
	Theta   float64
	Linear  float64  // divides RoPE's frequencies; 0: does not
	Llama3  *Llama3  // nil: not so
	Tied    bool     // the head is the embedding
	Rotated int      // of each head; 0: all of it
	Still   bool     // no layer rotates
	Gemma   *Gemma   // nil: of another family
	Granite *Granite // nil: of another family
	YaRN    *YaRN    // of gpt-oss, or nil
	Window  int      // of gpt-oss, in the first layer and every second

	Experts, ExpertsUsed, ExpertFF int // of Qwen3-MoE and gpt-oss, in each layer

	// Recurrent layers of Qwen3.5 and LFM2 have no attention, but a delta rule or a convolution of so many taps.
	Recurrent []bool // by layer; nil: none is
	Taps      int
	Delta     Delta // of Qwen3.5

	Beyond string // what config.json says and a file of this family cannot, such as "rope_type yarn"; "": nothing
}

// Llama3 is RoPE's scaling of Llama 3.1: long wavelengths are divided by Factor, short ones stay.
type Llama3 struct {
	Factor, Low, High, Original float64
}

// YaRN is RoPE's scaling of that name.
type YaRN struct {
	Factor, Original, Fast, Slow float64
}

// arch is the family's name in a file. Nothing tells Mistral from Llama there, nor Granite 3 from a dense Granite 4.
func (s Shape) arch() string {
	switch s.Family {
	case "mistral":
		return "llama"
	case layout.Gemma3:
		return "gemma3"
	case layout.Granite4:
		return "granite"
	case layout.Qwen35:
		return "qwen35"
	case layout.Qwen3MoE:
		return "qwen3moe"
	case layout.GptOss:
		return "gpt-oss"
	}
	return s.Family
}

// permuted reports whether rows of q and k are reordered: llama.cpp rotates neighbours where this family rotates the
// halves of a head.
func (s Shape) permuted() bool {
	return slices.Contains([]string{"llama", "smollm3", "granite"}, s.arch())
}

// check refuses what a file cannot express.
func (s Shape) check() error {
	const remedy = "write a Hugging Face folder instead, without --gguf"
	switch s.arch() {
	case "llama", "qwen2", "qwen3", "gemma3", "smollm3", "granite", "lfm2", "qwen35", "qwen3moe",
		"gpt-oss":
	default:
		return fmt.Errorf("models of the family %q cannot be written as GGUF; %s", s.Family, remedy)
	}
	switch {
	case s.Beyond != "":
		return fmt.Errorf("%s in a model of the family %s cannot be written as GGUF; %s", s.Beyond, s.Family, remedy)
	case s.Context <= 0:
		return errors.New("config.json has no max_position_embeddings, which a GGUF file must have; add it")
	case s.Llama3 != nil && s.arch() != "llama":
		return fmt.Errorf("rope_type llama3 in a model of the family %s cannot be written as GGUF; %s", s.Family,
			remedy)
	case s.arch() == "qwen2" && s.Heads*s.HeadDim != s.Dim:
		return fmt.Errorf("%d heads of width %d in a Qwen2 model of width %d cannot be written as GGUF; %s", s.Heads,
			s.HeadDim, s.Dim, remedy)
	case s.Family == layout.Gemma3:
		return s.checkGemma(remedy)
	case s.Delta.KeyDim != s.Delta.ValueDim:
		return fmt.Errorf("linear_key_head_dim %d beside linear_value_head_dim %d cannot be written as GGUF; %s",
			s.Delta.KeyDim, s.Delta.ValueDim, remedy)
	}
	return nil
}

// pairs are the metadata besides the tokenizer's.
func (s Shape) pairs(name string, kind Kind) []gguf.Pair {
	arch := s.arch()
	list := []gguf.Pair{{Key: "general.architecture", Value: arch}, {Key: "general.type", Value: "model"},
		{Key: "general.name", Value: name}, {Key: "general.file_type", Value: kind.fileType()},
		{Key: "general.quantization_version", Value: uint32(2)}}
	number := func(key string, n int) {
		list = append(list, gguf.Pair{Key: arch + "." + key, Value: uint32(n)})
	}
	number("vocab_size", s.Vocab)
	number("context_length", s.Context)
	number("embedding_length", s.Dim)
	number("block_count", s.Layers)
	number("feed_forward_length", s.FF)
	number("attention.head_count", s.Heads)
	if s.arch() == "lfm2" { // it has no other key for the layers that are recurrent
		list = append(list, gguf.Pair{Key: arch + ".attention.head_count_kv", Value: s.kvHeads()})
	} else {
		number("attention.head_count_kv", s.KVHeads)
	}
	number("attention.key_length", s.HeadDim)
	number("attention.value_length", s.HeadDim)
	number("rope.dimension_count", s.rotated())
	list = append(list, gguf.Pair{Key: arch + ".attention.layer_norm_rms_epsilon", Value: s.Eps},
		gguf.Pair{Key: arch + ".rope.freq_base", Value: float32(s.Theta)})
	if s.Linear > 0 && s.Linear != 1 {
		list = append(list, gguf.Pair{Key: arch + ".rope.scaling.type", Value: "linear"},
			gguf.Pair{Key: arch + ".rope.scaling.factor", Value: float32(s.Linear)})
	}
	if y := s.YaRN; y != nil {
		list = append(list, gguf.Pair{Key: arch + ".rope.scaling.type", Value: "yarn"},
			gguf.Pair{Key: arch + ".rope.scaling.factor", Value: float32(y.Factor)},
			gguf.Pair{Key: arch + ".rope.scaling.original_context_length", Value: uint32(y.Original)},
			gguf.Pair{Key: arch + ".rope.scaling.yarn_beta_fast", Value: float32(y.Fast)},
			gguf.Pair{Key: arch + ".rope.scaling.yarn_beta_slow", Value: float32(y.Slow)})
	}
	if s.Window > 0 {
		number("attention.sliding_window", s.Window)
	}
	switch arch {
	case "gemma3":
		list = append(list, s.gemmaPairs()...)
	case "granite":
		list = append(list, s.granitePairs()...)
	case "lfm2":
		number("shortconv.l_cache", s.Taps)
	case "qwen35":
		list = append(list, s.deltaPairs()...)
	case "qwen3moe", "gpt-oss":
		number("expert_count", s.Experts)
		number("expert_used_count", s.ExpertsUsed)
		number("expert_feed_forward_length", s.ExpertFF)
	}
	return list
}

// rotated is how much of a head rotates.
func (s Shape) rotated() int { return cmp.Or(s.Rotated, s.HeadDim) }

// divisors are the divisors of RoPE's frequencies, rope_freqs.weight: [HeadDim/2].
func (s Shape) divisors() []float32 {
	list := make([]float32, s.HeadDim/2)
	for i := range list {
		list[i] = float32(layout.Llama3(*s.Llama3).Divisor(s.Theta, int64(i), int64(s.HeadDim)))
	}
	return list
}
