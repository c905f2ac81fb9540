package model

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Config is the shape of a model and the numbers of its forward pass, read from config.json of a Hugging Face folder.
type Config struct {
	Arch     Arch
	Vocab    int // V
	Dim      int // D, width of the residual stream
	Layers   int
	Heads    int // query heads
	KVHeads  int // key and value heads; Heads is a multiple
	HeadDim  int // width of one head, even
	FF       int // F, width of the MLP
	Eps      float32
	RoPE     nn.RoPEConfig
	MaxPos   int    // the model's context length; 0 if config.json has none
	Tied     bool   // the head is the embedding; see ownHead
	BF16     bool   // weights are bf16, otherwise f32
	Frozen   string // matrices are frozen in Int8 or Int4, and BF16 is set for everything else
	Wrapped  bool   // config.json has other models around this one of text
	EOS, BOS []int  // token ids of config.json, for the sampler

	Sliding     []bool        // by layer: it attends to the last Window positions; nil is none
	Unrotated   []bool        // by layer: queries and keys are not rotated; nil is none
	Window      int           // of sliding layers
	LocalRoPE   nn.RoPEConfig // of sliding layers; without a Dim they rotate by RoPE
	QueryScalar float64       // queries are divided by its square root; 0 is HeadDim

	// Factors of the embedding, of what a layer adds to the residual stream, and of the last hidden state before the
	// head; 0 is 1, but see embedScale.
	EmbedScale, ResidualScale, LogitScale float32
	// Warm scales queries by 1 + Warm·log(1 + ⌊position/WarmFrom⌋).
	Warm, WarmFrom float64

	// Of Qwen3-MoE and gpt-oss: layers that Sparse names have experts of width ExpertFF for their MLP.
	Sparse   []bool // by layer; nil is none
	Experts  nn.Router
	ExpertFF int
	Clamp    nn.Clamp // of experts; without a Limit they have silu(gate)*up
	MXFP4    bool     // experts are in MXFP4 in the files, and stay so if BF16 is set and they are not frozen

	// Of Qwen3.5 and LFM2: layers that Linear names have no attention, but a delta rule or a convolution.
	Linear []bool // by layer; nil is none
	Delta  nn.Delta
	Conv   nn.ShortConv
}

// QDim and KVDim are the widths of all query heads and of all key heads.
func (c Config) QDim() int  { return c.Heads * c.HeadDim }
func (c Config) KVDim() int { return c.KVHeads * c.HeadDim }

// Pages is the shape of the model's KV pages.
func (c Config) Pages() nn.PageShape {
	shape := nn.PageShape{Layers: c.fullLayers(), KVHeads: c.KVHeads, HeadDim: c.HeadDim, BF16: c.BF16}
	if c.Arch.Conv {
		shape.Convs, shape.Conv = c.Layers-shape.Layers, c.Conv
	}
	return shape
}

// LoadConfig reads config.json of the model folder dir. If this package would compute the model wrongly, the error
// names the unsupported key.
func LoadConfig(dir string) (Config, error) {
	path := filepath.Join(dir, "config.json")
	data, err := disk.ReadFile(path, disk.SmallFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, fmt.Errorf("model: %s has no config.json; give the folder of a Hugging Face model: %w", dir,
			err)
	}
	if err != nil {
		return Config{}, fmt.Errorf("model: %w", err)
	}
	c, err := parseConfig(data)
	if err != nil {
		return Config{}, fmt.Errorf("model: %s: %w", path, err)
	}
	if c.Tied {
		own, err := ownHead(dir)
		if err != nil {
			return Config{}, fmt.Errorf("model: %s: %w", dir, err)
		}
		c.Tied = !own
	}
	return c, nil
}

// CheckConfig returns the error of LoadConfig for the contents of a config.json.
func CheckConfig(data []byte) error {
	if _, err := parseConfig(data); err != nil {
		return fmt.Errorf("model: config.json: %w", err)
	}
	return nil
}

func parseConfig(data []byte) (Config, error) {
	data, wrapped, err := innerText(data)
	if err != nil {
		return Config{}, err
	}
	all, h, err := readKeys(data)
	if err != nil {
		return Config{}, err
	}
	arch, err := h.arch()
	if err != nil {
		return Config{}, err
	}
	for _, k := range refusedKeys {
		if v, ok := all[k]; ok && string(v) != "null" && !slices.Contains(arch.Keys, k) {
			return Config{}, fmt.Errorf("%s = %s is not supported", k, v)
		}
	}
	if h, err = h.onto(arch.Defaults, data); err != nil {
		return Config{}, err
	}
	if _, said := all["sliding_window"]; !said {
		h.defaultWindow(arch)
	}
	if err := h.refuse(arch); err != nil {
		return Config{}, err
	}
	c, err := h.config(arch)
	if err != nil {
		return Config{}, err
	}
	c.Wrapped = wrapped
	if err := h.family(&c, data); err != nil {
		return Config{}, err
	}
	return c, c.check()
}

// config is what all families have.
func (h *hfConfig) config(arch Arch) (c Config, err error) {
	c = Config{Arch: arch, Vocab: h.VocabSize, Dim: h.Hidden, Layers: h.Layers, Heads: h.Heads, KVHeads: h.KVHeads,
		HeadDim: h.HeadDim, FF: h.Intermediate, Eps: 1e-6, MaxPos: h.MaxPos, EOS: h.EOS, BOS: h.BOS}
	if c.KVHeads == 0 {
		c.KVHeads = c.Heads
	}
	if c.HeadDim == 0 && c.Heads > 0 {
		c.HeadDim = c.Dim / c.Heads
	}
	if h.Eps != nil {
		c.Eps = *h.Eps
	}
	c.Tied = h.Tied != nil && *h.Tied
	c.BF16, err = h.bf16()
	return c, err
}

// family reads what families differ in.
func (h *hfConfig) family(c *Config, data []byte) (err error) {
	switch a := c.Arch; {
	case a.Gemma:
		return h.gemma(c)
	case a.Delta:
		return h.delta(c, data)
	case a.Conv:
		return h.convolutions(c, data)
	case a.Scaled:
		err = h.granite(c)
	case a.Sinks:
		err = h.gptOSS(c, data)
	case a.Experts:
		err = h.experts(c, data, hfExperts{Used: 8, FF: 768, Step: 1})
	}
	if err != nil {
		return err
	}
	if err = h.unrotated(c); err == nil {
		err = h.windows(c)
	}
	if err == nil {
		err = h.rope(c)
	}
	return err
}

// check tests whether the numbers describe a valid model.
func (c Config) check() error {
	for _, f := range []struct {
		key   string
		value int
	}{{"vocab_size", c.Vocab}, {"hidden_size", c.Dim}, {"num_hidden_layers", c.Layers},
		{"num_attention_heads", c.Heads},
		{"num_key_value_heads", c.KVHeads}, {"head_dim", c.HeadDim}, {"intermediate_size", c.FF}} {
		if f.value <= 0 || f.value > 1<<24 {
			return fmt.Errorf("%s = %d is not a size", f.key, f.value)
		}
	}
	if c.Sliding != nil && len(c.Sliding) != c.Layers || c.Unrotated != nil && len(c.Unrotated) != c.Layers {
		return fmt.Errorf("num_hidden_layers = %d is not a number of layers", c.Layers)
	}
	if c.Heads%c.KVHeads != 0 {
		return fmt.Errorf("num_attention_heads = %d is not a multiple of num_key_value_heads = %d", c.Heads, c.KVHeads)
	}
	if c.HeadDim%2 != 0 {
		return fmt.Errorf("head_dim = %d is odd", c.HeadDim)
	}
	if c.Arch.Delta {
		if err := c.checkDelta(); err != nil {
			return err
		}
	}
	if c.Arch.Conv {
		if err := c.checkConv(); err != nil {
			return err
		}
	}
	if !(c.Eps > 0) || !(c.RoPE.Theta > 0) {
		return fmt.Errorf("rms_norm_eps = %v, rope_theta = %v must be positive", c.Eps, c.RoPE.Theta)
	}
	return nil
}
