package nn

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// Router chooses Used of a layer's Experts for each row by its logits, one for each expert (Hugging Face transformers
// 5.24, Qwen3MoeTopKRouter of models/qwen3_moe and GptOssTopKRouter of models/gpt_oss). Those with the largest logits
// are chosen; of equal ones the first. The result of the layer is the sum of theirs, each times its weight:
//
//	weight_e = exp(logit_e) / sum over the chosen of exp(logit)   if Normed
//	weight_e = exp(logit_e) / sum over all of exp(logit)          otherwise
//
// transformers ranks by the probabilities, which are in the order of the logits, but may be equal where these differ.
type Router struct {
	Experts, Used int
	Normed        bool
}

// Choose writes the chosen experts [Used], upward, and their weights [Used]. all [Experts] receives the probabilities
// among all experts, unless they are normed.
func (r Router) Choose(k *kernel.Set, chosen []int32, weights, all, logits []float32) {
	top := chosen[:0] // the largest so far, downward
	for e, logit := range logits[:r.Experts] {
		at := len(top)
		for at > 0 && logit > logits[top[at-1]] {
			at--
		}
		if len(top) == r.Used {
			if at == r.Used {
				continue
			}
			top = top[:r.Used-1]
		}
		top = slices.Insert(top, at, int32(e))
	}
	slices.Sort(chosen[:r.Used])
	from := weights[:r.Used]
	if !r.Normed {
		copy(all, logits)
		from = all[:r.Experts]
	} else {
		for j, e := range chosen[:r.Used] {
			from[j] = logits[e]
		}
	}
	sum := k.ExpSum(from, from, k.Max(from))
	for i := range from {
		from[i] /= sum
	}
	if !r.Normed {
		for j, e := range chosen[:r.Used] {
			weights[j] = all[e]
		}
	}
}

// Backward writes the gradients of the logits [Experts], given those of the weights. all is what Choose left there. The
// choice itself has none.
//
//	dlogit_e = weight_e·(dweight_e - sum over the chosen of weight·dweight)
//
// where the experts that are not chosen have no dweight and, if Normed, no weight.
func (r Router) Backward(dlogits, dweights []float32, chosen []int32, weights, all []float32) {
	sum := float32(0)
	for j, w := range weights[:r.Used] {
		sum += float32(w * dweights[j])
	}
	for e := range dlogits {
		if dlogits[e] = 0; !r.Normed {
			dlogits[e] = float32(-all[e] * sum)
		}
	}
	for j, e := range chosen[:r.Used] {
		dlogits[e] = float32(weights[j] * (dweights[j] - sum))
	}
}
