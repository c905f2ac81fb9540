package engine

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
)

// DefaultContext is the context length of a model whose config.json names none, tokens.
const DefaultContext = weights.DefaultContext

// Description is the contents of a model folder's config.json in the engine's terms.
type Description struct {
	Family  string // architecture by its Hugging Face name, such as Qwen3ForCausalLM
	Vocab   int    // token ids are below it; it may be larger than the tokenizer's vocabulary
	Width   int    // of the residual stream
	Layers  int
	Heads   int // query heads
	KVHeads int // key and value heads
	HeadDim int // width of one head
	MLP     int // width of the MLP
	// Experts that some or all layers have for their MLP, those a token passes through, and their width; or 0
	Experts, ExpertsUsed, ExpertMLP int

	Context int // longest sequence, tokens; 32,768 if config.json names no max_position_embeddings
	Tied    bool
	DType   string // of the weights and of the computation: "bfloat16" or "float32"

	RoPETheta   float64
	RoPEScaling string // a description of RoPE's scaling; "" is none

	Parameters int64

	config model.Config
}

// Describe reads config.json of the model folder dir and, if there are weights, their dtype. If the engine would
// compute the model wrongly, the error names the key of config.json that it does not support; it wraps fs.ErrNotExist
// if there is no config.json.
func Describe(dir string) (Description, error) {
	c, err := model.LoadConfig(dir)
	if err != nil {
		return Description{}, err
	}
	if bf16, err := model.StoredBF16(dir, c); err == nil { // without readable weights, config.json decides
		c.BF16 = bf16
	}
	d := Description{Family: c.Arch.Name, Vocab: c.Vocab, Width: c.Dim, Layers: c.Layers, Heads: c.Heads,
		KVHeads: c.KVHeads,
		HeadDim: c.HeadDim, MLP: c.FF, Context: weights.ContextOf(c), Tied: c.Tied, DType: "float32",
		RoPETheta: c.RoPE.Theta,
		Experts:   c.Experts.Experts, ExpertsUsed: c.Experts.Used, ExpertMLP: c.ExpertFF, Parameters: c.Parameters(),
		config: c}
	if c.BF16 {
		d.DType = "bfloat16"
	}
	switch {
	case c.RoPE.Llama3 != nil:
		d.RoPEScaling = fmt.Sprintf("scaled by %g as Llama 3 does", c.RoPE.Llama3.Factor)
	case c.RoPE.Linear > 0:
		d.RoPEScaling = fmt.Sprintf("scaled by %g", c.RoPE.Linear)
	case c.RoPE.YaRN != nil:
		d.RoPEScaling = fmt.Sprintf("scaled by %g as YaRN does", c.RoPE.YaRN.Factor)
	case c.RoPE.Divide != nil:
		d.RoPEScaling = "scaled by longrope's short_factor"
	}
	return d, nil
}

// Modules returns the names of the linear layers of a LoRA on attention or what stands for it, on the MLP, and on the
// output layer.
func (d Description) Modules(attn, mlp, unembed bool) []string {
	return model.LoRA{Attn: attn, MLP: mlp, Unembed: unembed}.ModulesOn(d.config)
}

// CheckModules returns an error if the model lacks one of some linear layers.
func (d Description) CheckModules(names []string) error {
	return model.LoRA{Modules: names}.CheckOn(d.config)
}

// CheckWeights returns an error if the weights of a model folder cannot be loaded: a file or a tensor that is missing,
// has another shape than config.json gives, or a type that is not read. It reads the headers of the files alone.
func CheckWeights(dir string) error {
	c, err := model.LoadConfig(dir)
	if err != nil {
		return err
	}
	return model.CheckWeights(dir, c)
}

// CheckConfig returns an error for the contents of a config.json of which the engine would compute the model wrongly.
func CheckConfig(data []byte) error { return model.CheckConfig(data) }

// AdapterParameters is the number of parameters of a LoRA of that rank on attention, MLP and unembedding.
func (d Description) AdapterParameters(rank int) int64 { return d.config.AdapterParameters(rank) }

// FolderEnds returns the tokens that end an answer by config.json and generation_config.json of the model folder dir.
func FolderEnds(dir string) ([]int32, error) {
	c, err := model.LoadConfig(dir)
	if err != nil {
		return nil, err
	}
	return weights.FolderEnds(dir, c)
}
