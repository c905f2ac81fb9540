package pipeline

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// The operators of DAPO (Yu et al., arXiv 2503.14476), with the names and metrics of Trinity-RFT 0.6.0.

// dynamicSampling keeps the groups in which some answers are right and some are wrong (section 3.2).
type dynamicSampling struct {
	key       string // of the metric that says how good an answer is; without it the reward does
	threshold float64
}

func newDynamicSampling(args map[string]any) (Operator, error) {
	r := arg.Read(args)
	return dynamicSampling{r.Text("metric_key", "accuracy"), r.Float("correct_threshold", 0)}, r.Close()
}

// Process implements Operator. Groups of fewer than two experiences are neither all right nor all wrong, and go too.
func (d dynamicSampling) Process(_ context.Context,
	list []*experience.Experience) ([]*experience.Experience, map[string]float64, error) {
	drop := map[string]bool{}
	right, wrong := 0, 0
	for _, g := range experience.GroupBy(list, experience.EID.TID) {
		n, correct := len(g.Experiences), 0
		for _, e := range g.Experiences {
			score, ok := d.score(e)
			if !ok {
				return nil, nil, fmt.Errorf("experience %s has neither a metric %q nor a reward; name another in "+
					"metric_key", e.EID, d.key)
			}
			if score > d.threshold {
				correct++
			}
		}
		drop[g.ID] = n < 2 || correct == 0 || correct == n
		switch {
		case n < 2:
		case correct == 0:
			wrong += n
		case correct == n:
			right += n
		}
	}
	kept, metrics, err := keep(list, func(e *experience.Experience) bool { return !drop[e.EID.TID()] })
	metrics["dropped_all_correct"], metrics["dropped_all_wrong"] = float64(right), float64(wrong)
	return kept, metrics, err
}

func (d dynamicSampling) score(e *experience.Experience) (float64, bool) {
	if v, ok := e.Metrics[d.key]; ok {
		return v, true
	}
	return e.RewardOr(0), e.Reward != nil
}

// maskTruncated trains nothing of answers that were cut off; they stay in their groups (section 3.4).
type maskTruncated struct{}

func newMaskTruncated(args map[string]any) (Operator, error) {
	return maskTruncated{}, arg.Read(args).Close()
}

func (maskTruncated) Process(_ context.Context,
	list []*experience.Experience) ([]*experience.Experience, map[string]float64, error) {
	masked := 0
	for _, e := range list {
		if e.TruncateStatus == experience.ResponseTruncated {
			e.ActionMask = make([]bool, len(e.ActionMask))
			masked++
		}
	}
	return list, map[string]float64{"masked_truncated_count": float64(masked)}, nil
}
