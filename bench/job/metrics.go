package job

import (
	"fmt"
	"maps"
	"math"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
)

// The metrics that show whether a run learned.
const (
	Reward   = "critic/rewards/mean"
	Accuracy = "rollout/accuracy/mean"
	// HeldOut is the accuracy of examples/tiny/gsm8k.yaml on its HeldOutTasks problems that are not trained.
	HeldOut      = "eval/held-out/accuracy/mean@4"
	HeldOutTasks = 300
)

// Ends are the first and the last value of an evaluation.
func Ends(sum *console.Summary, key string) (before, after float64, err error) {
	before, after, ok := sum.Ends(key)
	if !ok {
		err = fmt.Errorf("the run measured no %s, but %v", key, sum.Lines[len(sum.Lines)-1].Metrics.Keys())
	}
	return before, after, err
}

// Exact reports an error unless sampler and trainer agree to the last bit in every step that measured it, and how many
// steps did.
func Exact(lines []monitor.Line) (measured int, err error) {
	for _, l := range lines {
		v1, ok := l.Metrics["train/kl_sample_train_v1"]
		if !ok {
			continue
		}
		measured++
		if v2 := l.Metrics["train/kl_sample_train_v2"]; v1 != 0 || v2 != 0 {
			return measured, fmt.Errorf("step %d: sampler and trainer differ by %v, %v", l.Step, v1, v2)
		}
	}
	if measured == 0 {
		return 0, fmt.Errorf("no step of %d measured the gap between sampler and trainer", len(lines))
	}
	return measured, nil
}

// Same reports the first difference between the bits of two runs' metrics, except times.
func Same(got, want []monitor.Line) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d lines of metrics, want %d", len(got), len(want))
	}
	for i, w := range want {
		g, w := timeless(got[i]), timeless(w)
		if g.Step != w.Step || len(g.Metrics) != len(w.Metrics) {
			return fmt.Errorf("line %d: step %d with %d metrics, want step %d with %d", i, g.Step, len(g.Metrics),
				w.Step, len(w.Metrics))
		}
		for _, key := range w.Metrics.Keys() {
			if v, ok := g.Metrics[key]; !ok || math.Float64bits(v) != math.Float64bits(w.Metrics[key]) {
				return fmt.Errorf("step %d: %s = %v, want %v", w.Step, key, v, w.Metrics[key])
			}
		}
	}
	return nil
}

func timeless(l monitor.Line) monitor.Line {
	l.Metrics = maps.Clone(l.Metrics)
	maps.DeleteFunc(l.Metrics, func(key string, _ float64) bool { return monitor.IsTime(key) })
	return l
}

// Interval is an accuracy with its 95 % Wilson interval over n tasks (the samples of a task count as one).
func Interval(p, n float64) string {
	const z = 1.96
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return fmt.Sprintf("%.3f [%.3f, %.3f]", p, mid-half, mid+half)
}
