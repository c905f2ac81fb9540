package console

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// The windows at the beginning and the end of a run have no step in common.
func TestMeans(t *testing.T) {
	for _, tt := range []struct {
		steps int
		want  string
	}{
		{1, "reward   1.000 (one step)\n"},
		{2, "reward   1.000 → 2.000 (first and last step)\n"},
		{3, "reward   1.000 → 3.000 (first and last step)\n"},
		{8, "reward   2.500 → 6.500 (first and last 4 steps)\n"},
		{19, "reward   5.000 → 15.000 (first and last 9 steps)\n"},
		{20, "reward   5.500 → 15.500 (first and last 10 steps)\n"},
		{50, "reward   5.500 → 45.500 (first and last 10 steps)\n"},
	} {
		s := &Summary{Steps: tt.steps, Lines: []monitor.Line{{Metrics: monitor.Metrics{"eval/x": 1}}}}
		for step := 1; step <= tt.steps; step++ {
			m := monitor.Metrics{rewardKey: float64(step)}
			s.Lines = append(s.Lines, monitor.Line{Step: step, Metrics: m})
		}
		var b strings.Builder
		if s.writeMeans(&b); b.String() != tt.want {
			t.Errorf("%d steps: %s want %s", tt.steps, b.String(), tt.want)
		}
	}
}

func TestEvaluations(t *testing.T) {
	for _, tt := range []struct {
		name, statistic string
		keys, want      []string
	}{
		{"accuracy is enough", "mean@",
			[]string{"eval/a/accuracy/best@4", "eval/a/accuracy/mean@4", "eval/a/reward/mean@4"},
			[]string{"eval/a/accuracy/mean@4"}},
		{"a reward of one's own", "mean@",
			[]string{"eval/a/length/mean@4", "eval/a/reward/best@4", "eval/a/reward/mean@4",
				"eval/a/time/run_execution"},
			[]string{"eval/a/reward/mean@4"}},
		{"each set by itself", "mean@",
			[]string{"eval/a/accuracy/mean@1", "eval/a/reward/mean@1", "eval/b/c/reward/mean@2"},
			[]string{"eval/a/accuracy/mean@1", "eval/b/c/reward/mean@2"}},
		{"no reward", "mean@", []string{"eval/a/helpful/mean@1", "eval/a/finished_task_count"},
			[]string{"eval/a/helpful/mean@1"}},
		{"the spread over tasks", "mean@",
			[]string{"eval/a/accuracy/mean@4/max", "eval/a/accuracy/mean@4/mean", "eval/a/accuracy/mean@4/std"},
			[]string{"eval/a/accuracy/mean@4/mean"}},
		{"mode bench", "mean@", []string{"bench/a/reward/best@2", "bench/a/reward/mean@2"},
			[]string{"bench/a/reward/mean@2"}},
		{"mode bench at the end", "", []string{"bench/a/reward/best@2", "bench/a/reward/mean@2", "bench/a/x/mean@2"},
			[]string{"bench/a/reward/best@2", "bench/a/reward/mean@2"}},
		{"a run at the end", "", []string{"eval/a/reward/best@2", "eval/a/reward/mean@2"},
			[]string{"eval/a/reward/mean@2"}},
	} {
		if got := evaluations(tt.keys, tt.statistic); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
