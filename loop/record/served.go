package record

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// Served scores the experiences that a program made and hands them on.
type Served struct {
	Scorer *explorer.Explorer
	Sink   *Explored
}

// Commit scores the experiences of a step, hands them to the trainer and returns their metrics.
func (s *Served) Commit(
	ctx context.Context, step int, list []*experience.Experience,
) (map[string]float64, error) {
	metrics := map[string]float64{}
	sum, anew := 0.0, 0.0
	for _, e := range list {
		sum += e.RewardOr(0)
		anew += e.Metrics[workflow.NewSequences]
	}
	if anew > 0 {
		metrics["rollout/new_sequences/mean"] = anew / float64(len(list))
	}
	metrics["rollout/reward/mean"] = sum / float64(max(1, len(list)))
	metrics["rollout/experience_count"] = float64(len(list))
	list, err := s.Scorer.Score(ctx, step, list, metrics)
	if err != nil {
		return nil, err
	}
	return metrics, s.Sink.Explored(ctx, step, metrics, list)
}
