package explorer

import (
	"maps"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// The names of metrics say how they are reduced; the values are those of Trinity-RFT 0.6.0's own function.
func TestMetricSuffixes(t *testing.T) {
	one := func(reward float64, metrics map[string]float64) []*experience.Experience {
		e := &experience.Experience{Metrics: metrics}
		e.SetReward(reward)
		return []*experience.Experience{e}
	}
	groups := [][]*experience.Experience{
		one(1, map[string]float64{"tokens:sum": 3, "ver:last": 1, "peak:max": 5, "low:min": 2, "odd:foo": 1}),
		one(0, map[string]float64{"tokens:sum": 4, "ver:last": 2, "peak:max": 4, "low:min": 1, "odd:foo": 3}),
	}
	want := map[string]float64{"rollout/finished_task_count": 2, "rollout/reward/mean": 0.5, "rollout/reward/max": 1,
		"rollout/reward/min": 0, "rollout/tokens/sum": 7, "rollout/ver/last": 2, "rollout/peak/max": 5,
		"rollout/low/min": 1, "rollout/odd:foo/mean": 2, "rollout/odd:foo/max": 3, "rollout/odd:foo/min": 1}
	if got := rolloutMetrics(groups); !maps.Equal(got, want) {
		t.Errorf("metrics %v, want %v", got, want)
	}
	// Of one task: both runs count, and :mean is the same as no suffix.
	task := append(one(1, map[string]float64{"tokens:sum": 3, "len": 1}),
		one(0, map[string]float64{"tokens:sum": 4, "len:mean": 3})...)
	got := rolloutMetrics([][]*experience.Experience{task})
	if got["rollout/tokens/sum"] != 7 || got["rollout/len/mean"] != 2 {
		t.Errorf("metrics %v, want 7 tokens and the mean length 2", got)
	}
}

// A part of the reward that is itself called reward is not counted beside the reward.
func TestPartCalledReward(t *testing.T) {
	e := &experience.Experience{Metrics: map[string]float64{"reward": 0.25, "reward:mean": 0.25, "style": 1}}
	e.SetReward(1)
	group := [][]*experience.Experience{{e, e}}
	got := rolloutMetrics(group)
	if got["rollout/reward/mean"] != 1 || got["rollout/reward/min"] != 1 || got["rollout/style/mean"] != 1 {
		t.Errorf("metrics %v, want a reward of 1", got)
	}
	evaluated := map[string]float64{}
	evalMetrics(evaluated, "eval/set", group, make([]took, 1), false)
	if _, ok := evaluated["eval/set/reward/mean@2"]; !ok {
		t.Errorf("metrics %v, want the mean reward of 2 repetitions", evaluated)
	}
}
