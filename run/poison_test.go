package run

import (
	"bytes"
	"context"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

// A reward that is no float32, or a sum of parts that is none, is the failure of its group: the run ends, says why, and
// its metrics are numbers.
func TestRewardsThatAreNotFinite(t *testing.T) {
	t.Parallel()
	for why, parts := range map[string]reward.Scores{
		"its reward is 1e+300": {{Name: "accuracy", Value: 1e300}},
		"its reward is -1e+39": {{Name: "accuracy", Value: -1e39}},
		"its reward is NaN":    {{Name: "accuracy", Value: 1}, {Name: "format", Value: math.NaN()}},
		"its reward is +Inf":   {{Name: "accuracy", Value: math.MaxFloat64}, {Name: "format", Value: math.MaxFloat64}},
	} {
		o, first := options(), new(atomic.Pointer[string])
		o.Plugins.Rewards = map[string]reward.Func{"math_reward": func(s reward.Sample) (reward.Scores, error) {
			if first.CompareAndSwap(nil, &s.Truth); s.Truth == *first.Load() {
				return parts, nil
			}
			return byChance(s)
		}}
		leavesOut(t, o, why)
	}
}

// leavesOut runs a job that leaves samples out for a reason.
func leavesOut(t *testing.T, o Options, why string, overrides ...string) {
	t.Helper()
	var out bytes.Buffer
	o.Out = &out
	sum, err := Run(t.Context(), load(t, t.TempDir(), and(tiny, overrides...)...), o)
	if err != nil || len(sum.Lines) == 0 || !strings.Contains(out.String(), why) {
		t.Fatalf("%s: %v; the run said %s", why, err, out.String())
	}
	for _, l := range sum.Lines {
		for k, v := range l.Metrics {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s: step %d has %s = %v", why, l.Step, k, v)
			}
		}
	}
}

// An operator that makes such a reward loses its groups.
func TestShapedRewardsThatAreNotFinite(t *testing.T) {
	t.Parallel()
	o := options()
	o.Plugins.Operators = map[string]pipeline.Make{"spoil": func(map[string]any) (pipeline.Operator, error) {
		return spoiler{}, nil
	}}
	leavesOut(t, o, "its reward is 1e+200", "data_processor.experience_pipeline.operators=[{name: spoil}]")
}

// spoiler gives the first sample of each step a reward that is no float32.
type spoiler struct{}

func (spoiler) Process(_ context.Context, list []*experience.Experience) ([]*experience.Experience,
	map[string]float64, error) {
	list[0].SetReward(1e200)
	return list, nil, nil
}
