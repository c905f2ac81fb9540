package reward

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/expression"
	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/extract"
	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

// RLCR is rlcr_reward of Trinity-RFT's main branch: a right answer, and a confidence that says how sure the model may
// be (Damani et al., "Beyond Binary Rewards", arXiv 2507.16806). With a the accuracy (1 or 0) and q the confidence, its
// parts, each times its weight, are
//
//	format: 1 if the response ends in think, answer, analysis and confidence
//	accuracy: a; brier: 1−(a−q)²; both 0 without the format or without a truth
//	mean_confidence: q; confidence_one_or_zero: 1 if q < 0.01 or q > 0.99; with or without the format
//
// The argument weights replaces all five weights.
func RLCR(s Sample) (Scores, error) {
	w, err := rlcrWeights(s.Args["weights"])
	if err != nil {
		return nil, fmt.Errorf("reward: rlcr_reward: %w", err)
	}
	v := map[string]float64{}
	if q, ok := lastConfidence(s.Response); ok {
		v["mean_confidence"], v["confidence_one_or_zero"] = q, oneIf(q < 0.01 || q > 0.99)
	}
	answer, q, ok := rlcrChain(s.Response)
	v["format"] = oneIf(ok)
	if ok && s.Truth != "" {
		a := oneIf(expression.Agree(extract.Answer(answer, extract.Default()),
			extract.Answer(s.Truth, extract.Default())))
		v["accuracy"], v["brier"] = a, 1-float64((a-q)*(a-q))
	}
	var scores Scores
	for _, part := range rlcrParts() {
		scores = append(scores, Score{part.Name, w[part.Name] * v[part.Name]})
	}
	return scores, nil
}

// rlcrParts are the parts of the reward with their usual weights.
func rlcrParts() Scores {
	return Scores{{"format", 0.5}, {"accuracy", 0.5}, {"brier", 0.5}, {"mean_confidence", 1e-5},
		{"confidence_one_or_zero", 1e-5}}
}

// rlcrWeights are the usual weights, or the five that are given.
func rlcrWeights(given any) (map[string]float64, error) {
	w := map[string]float64{}
	for _, part := range rlcrParts() {
		w[part.Name] = part.Value
	}
	if given == nil {
		return w, nil
	}
	m, ok := given.(map[string]any)
	names := slices.Sorted(maps.Keys(w))
	if !ok || !slices.Equal(slices.Sorted(maps.Keys(m)), names) {
		return nil, fmt.Errorf("weights is %v; it must have exactly %s", given, strings.Join(names, ", "))
	}
	for name, v := range m {
		switch v := v.(type) {
		case int:
			w[name] = float64(v)
		case float64:
			w[name] = v
		default:
			return nil, fmt.Errorf("weights.%s is %v; it must be a number", name, v)
		}
		if math.IsNaN(w[name]) || math.IsInf(w[name], 0) {
			return nil, fmt.Errorf("weights.%s is %v; it must be finite", name, v)
		}
	}
	return w, nil
}

var rlcrTag = regexp.MustCompile(`</?(?:think|answer|analysis|confidence)>`)

// rlcrChain reads a response that ends in the four blocks: no tags within another block, nothing but white space
// between them and after them, and a confidence that is one.
func rlcrChain(text string) (answer string, q float64, ok bool) {
	tags := rlcrTag.FindAllStringIndex(text, -1)
	tag := func(i int) string { return text[tags[i][0]:tags[i][1]] }
	if len(tags)%2 != 0 || len(tags) < 8 {
		return "", 0, false
	}
	for i := 0; i < len(tags); i += 2 {
		if open := tag(i); open[1] == '/' || tag(i+1) != "</"+open[1:] {
			return "", 0, false
		}
	}
	tags = tags[len(tags)-8:]
	for i, name := range []string{"<think>", "<answer>", "<analysis>", "<confidence>"} {
		next := len(text)
		if i < 3 {
			next = tags[2*i+2][0]
		}
		if tag(2*i) != name || tex.TrimSpace(text[tags[2*i+1][1]:next]) != "" {
			return "", 0, false
		}
	}
	q, ok = confidence(text[tags[6][1]:tags[7][0]])
	return text[tags[2][1]:tags[3][0]], q, ok
}

// lastConfidence is the last block of confidence, whatever else the response is.
func lastConfidence(text string) (float64, bool) {
	const open, shut = "<confidence>", "</confidence>"
	i, j := strings.LastIndex(text, open), strings.LastIndex(text, shut)
	if i < 0 || j < i || rlcrTag.MatchString(text[i+len(open):j]) {
		return 0, false
	}
	return confidence(text[i+len(open) : j])
}

// confidence reads a number from 0 to 1.
func confidence(text string) (float64, bool) {
	text = tex.TrimSpace(text)
	q, err := strconv.ParseFloat(text, 64)
	return q, err == nil && q >= 0 && q <= 1 && !strings.ContainsAny(text, "xX")
}
