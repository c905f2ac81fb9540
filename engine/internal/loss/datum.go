package loss

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Datum is the checked loss_fn_inputs of one tinker.Datum: N positions with K targets each, row-major [N,K].
type Datum struct {
	N, K       int
	Shape      []int     // of target_tokens in the request; outputs have it too
	Targets    []int32   // [N,K]
	Weights    []float32 // [N,K] or nil, which means ones; of trinity_ppo: positive at response tokens
	Logprobs   []float32 // [N,K]
	Advantages []float32 // [N,K]
	RatioMask  []float32 // [N]: nonzero where gspo's sequence ratio is taken
	Sampled    []float32 // [N]: nonzero where stable_reinforce's targets were sampled
	Reference  []float32 // [N]: of trinity_ppo, or nil without a KL term

	EntropyWeights []float32 // [N] or nil, which means ones

	ratio  float64 // of gspo, once Prepare has computed it
	tokens int     // response tokens of trinity_ppo
}

func (d Datum) weight(i int) float64 {
	if d.Weights == nil {
		return 1
	}
	return float64(d.Weights[i])
}

// Check reads the inputs that l needs from the index-th datum of a request, for a model with a vocabulary of vocab
// tokens. A missing or unknown input, a wrong shape and a value that is not finite are User errors that name datum and
// key. Known inputs of other losses are ignored; cross_entropy without weights has weights of one.
func (l Loss) Check(index int, d tinker.Datum, vocab int) (Datum, error) {
	for _, key := range slices.Sorted(maps.Keys(d.LossFnInputs)) {
		switch key {
		case tinker.TargetTokens, tinker.Weights, tinker.Logprobs, tinker.Advantages, tinker.SequenceRatioMask,
			tinker.SampledMask:
		case tinker.EntropyWeights:
			if !l.entropic {
				return Datum{}, tinker.Userf("loss: datum %d has entropy_weights, but loss_fn_config of %s has no "+
					"entropy_coef; give it, or leave them out", index, l.name)
			}
		case "clip_low_threshold", "clip_high_threshold":
			return Datum{}, tinker.Userf("loss: datum %d has %s in loss_fn_inputs; no loss takes it per token, set "+
				"it in loss_fn_config", index, key)
		default:
			if l.name == tinker.TrinityPPO && (key == tinker.RefLogprobs || key == tinker.Mask) {
				continue
			}
			return Datum{}, tinker.Userf("loss: datum %d has an unknown loss_fn_input %q; %s takes %s", index, key,
				l.name, strings.Join(l.needs(), ", "))
		}
	}
	c := Datum{N: d.ModelInput.Len()}
	if err := l.targets(&c, index, d, vocab); err != nil {
		return Datum{}, err
	}
	for _, key := range l.needs()[1:] {
		t, ok := d.LossFnInputs[key]
		if !ok && l.optional(key, d) {
			continue
		}
		v, err := l.floats(index, key, t, ok, c)
		if err != nil {
			return Datum{}, err
		}
		switch key {
		case tinker.Weights:
			c.Weights = v
		case tinker.Logprobs:
			c.Logprobs = v
		case tinker.Advantages:
			c.Advantages = v
		case tinker.SequenceRatioMask:
			c.RatioMask = v
		case tinker.SampledMask:
			c.Sampled = v
		case tinker.RefLogprobs:
			c.Reference = v
		}
	}
	if err := l.masks(index, &c, d); err != nil {
		return Datum{}, err
	}
	if t, ok := d.LossFnInputs[tinker.EntropyWeights]; ok {
		var err error
		if c.EntropyWeights, err = l.floats(index, tinker.EntropyWeights, t, true,
			Datum{Shape: []int{c.N}}); err != nil {
			return Datum{}, err
		}
	}
	return c, nil
}

func (l Loss) needs() []string {
	if l.name == tinker.CrossEntropy {
		return []string{tinker.TargetTokens, tinker.Weights}
	}
	needs := []string{tinker.TargetTokens, tinker.Logprobs, tinker.Advantages}
	switch l.name {
	case tinker.GSPO:
		needs = append(needs, tinker.SequenceRatioMask)
	case tinker.StableReinforce:
		needs = append(needs, tinker.SampledMask)
	case tinker.TrinityPPO:
		needs = append(needs, tinker.Weights, tinker.RefLogprobs)
	}
	return needs
}

// optional reports whether l takes datum d without an input that it reads.
func (l Loss) optional(key string, d tinker.Datum) bool {
	_, masked := d.LossFnInputs[tinker.Mask]
	return key == tinker.Weights && (l.name == tinker.CrossEntropy || masked) ||
		key == tinker.RefLogprobs && l.trinity.kl == 0
}

// masks refuses masks with which a loss is undefined.
func (l Loss) masks(index int, c *Datum, d tinker.Datum) error {
	if l.name == tinker.TrinityPPO {
		return l.response(index, c, d)
	}
	if l.name == tinker.GSPO && !slices.ContainsFunc(c.RatioMask, func(m float32) bool { return m != 0 }) {
		return tinker.Userf("loss: datum %d: sequence_ratio_mask marks no position; gspo needs 1 at the sampled "+
			"ones", index)
	}
	if l.name != tinker.StableReinforce {
		return nil
	}
	for i, a := range c.Advantages {
		if a != 0 && c.Sampled[i] == 0 {
			return tinker.Userf("loss: datum %d: advantages[%d] is %v, but target %d was not sampled; "+
				"stable_reinforce takes advantages of sampled tokens only, set it to 0", index, i, a, i)
		}
	}
	return nil
}

func (l Loss) targets(c *Datum, index int, d tinker.Datum, vocab int) error {
	t, ok := d.LossFnInputs[tinker.TargetTokens]
	if !ok {
		return tinker.Userf("loss: datum %d lacks target_tokens, which %s needs", index, l.name)
	}
	if len(t.Float) > 0 {
		return tinker.Userf("loss: datum %d: target_tokens must be int64, it is float32", index)
	}
	rows, cols, ok := t.Dims()
	if !ok || rows != c.N || cols < 1 {
		return tinker.Userf("loss: datum %d: target_tokens has shape %v and %d elements; model_input has %d "+
			"positions, so it must be [%d] or [%d,K]", index, t.Shape, t.Len(), c.N, c.N, c.N)
	}
	if len(t.Shape) == 2 && l.name != tinker.CrossEntropy && l.name != tinker.ImportanceSampling {
		return tinker.Userf("loss: datum %d: target_tokens has shape %v; %s takes one target per position, [%d]", index,
			t.Shape, l.name, c.N)
	}
	c.K, c.Shape, c.Targets = cols, shape(t), make([]int32, len(t.Int))
	for i, v := range t.Int {
		if v < 0 || v >= int64(vocab) {
			return tinker.Userf("loss: datum %d: target_tokens[%d] is %d; the model has tokens 0 to %d", index, i, v,
				vocab-1)
		}
		c.Targets[i] = int32(v)
	}
	return nil
}

func (l Loss) floats(index int, key string, t tinker.Tensor, ok bool, c Datum) ([]float32, error) {
	if !ok {
		return nil, tinker.Userf("loss: datum %d lacks %s, which %s needs", index, key, l.name)
	}
	if len(t.Int) > 0 {
		return nil, tinker.Userf("loss: datum %d: %s must be float32, it is int64", index, key)
	}
	if _, _, fits := t.Dims(); !fits || !slices.Equal(shape(t), c.Shape) {
		return nil, tinker.Userf("loss: datum %d: %s has shape %v and %d elements; it must be %v", index, key, shape(t),
			t.Len(), c.Shape)
	}
	for i, v := range t.Float {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, tinker.Userf("loss: datum %d: %s[%d] is %v; every number must be finite", index, key, i, v)
		}
	}
	return t.Float, nil
}

// shape is t's shape; an empty one is [len].
func shape(t tinker.Tensor) []int {
	if len(t.Shape) == 0 {
		return []int{t.Len()}
	}
	return t.Shape
}
