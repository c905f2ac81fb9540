package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// Qwen3-MoE differs from Qwen3 (Hugging Face transformers 5.24, models/qwen3_moe/modeling_qwen3_moe.py): for their MLP,
// most layers have many narrow ones, the experts, of which a router (nn.Router) chooses some for each row.

// hfExperts is the keys of Qwen3-MoE's config.json beside those of hfConfig, with the defaults of transformers.
type hfExperts struct {
	N      *int  `json:"num_experts"`
	Other  *int  `json:"num_local_experts"` // transformers' own name of the same number
	Used   int   `json:"num_experts_per_tok"`
	FF     int   `json:"moe_intermediate_size"`
	Normed bool  `json:"norm_topk_prob"`
	Step   int   `json:"decoder_sparse_step"`
	Dense  []int `json:"mlp_only_layers"`
}

// experts reads the keys of Qwen3-MoE, which t has the defaults of.
func (h *hfConfig) experts(c *Config, data []byte, t hfExperts) error {
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	n := 128
	for _, said := range []*int{t.Other, t.N} {
		if said != nil {
			n = *said
		}
	}
	switch {
	case t.N != nil && t.Other != nil && *t.N != *t.Other:
		return fmt.Errorf("num_experts = %d and num_local_experts = %d differ; correct one of them", *t.N, *t.Other)
	case n < 0 || n > 1<<12:
		return fmt.Errorf("num_experts = %d is not a number of experts; supported are 0 to %d", n, 1<<12)
	case t.Step < 1:
		return fmt.Errorf("decoder_sparse_step = %d must be positive", t.Step)
	case n > 0 && (t.Used < 1 || t.Used > n):
		return fmt.Errorf("num_experts_per_tok = %d must be 1 to num_experts = %d", t.Used, n)
	case n > 0 && (t.FF < 1 || t.FF > 1<<24):
		return fmt.Errorf("moe_intermediate_size = %d is not a size", t.FF)
	}
	sparse := make([]bool, h.count())
	for l := range sparse {
		sparse[l] = n > 0 && (l+1)%t.Step == 0 && !slices.Contains(t.Dense, l)
	}
	if slices.Contains(sparse, true) {
		c.Sparse, c.ExpertFF = sparse, t.FF
		c.Experts = nn.Router{Experts: n, Used: t.Used, Normed: t.Normed}
	}
	return nil
}

// sparse reports whether layer l has experts, and dense whether any layer has none.
func (c Config) sparse(l int) bool { return c.Sparse != nil && c.Sparse[l] }
func (c Config) dense() bool       { return c.Sparse == nil || slices.Contains(c.Sparse, false) }

// routerName is the name of a router below a layer.
func (c Config) routerName() string { return cmp.Or(c.Arch.Router, "mlp.gate") }

// expertTargets returns the fused linears gateUp and down of each expert of a layer.
func expertTargets(c Config, layer string) (list []target) {
	F, used, bias := c.ExpertFF, c.Experts.Used, c.Arch.Bias
	for e := range c.Experts.Experts {
		at := fmt.Sprintf("%smlp.experts.%d.", layer, e)
		list = append(list,
			target{at: at, in: c.Dim, outs: []projection{{"gate_proj", F, 0}, {"up_proj", F, F}}, share: used,
				bias: bias},
			target{at: at, in: F, outs: []projection{{"down_proj", c.Dim, 0}}, share: used, bias: bias})
	}
	return list
}
