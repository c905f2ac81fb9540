package run

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// The metrics that show whether a run learned.
const (
	rewardKey   = "critic/rewards/mean"
	accuracyKey = "rollout/accuracy/mean"
)

var learnFull = flag.Bool("learn.full", false, "TestLearn: seeds 1, 2 and 3 for 50 steps, the base by itself, and "+
	"the shuffled control")

const (
	trainAccuracy = "rollout/accuracy/mean"
	heldOut       = "eval/held-out/accuracy/mean@4"
	heldOutTasks  = 300
)

// TestLearn is the proof that the example learns: one seed for 12 steps, or with -learn.full everything the project
// promises.
func TestLearn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains for half a minute")
	}
	if !*learnFull {
		l := learn(t, 1, 12, options(), "explorer.eval_on_startup=false", "buffer.explorer_input.eval_tasksets=[]")
		if first, last := l.Mean(trainAccuracy, 1, 4), l.Mean(trainAccuracy, 9, 12); last < first+0.1 {
			t.Errorf("training accuracy went from %.3f (steps 1-4) to %.3f (steps 9-12)", first, last)
		}
		return
	}
	testBase(t)
	for seed := 1; seed <= 3; seed++ {
		l := learn(t, seed, 50, options())
		first, last := l.Mean(trainAccuracy, 1, 1), l.Mean(trainAccuracy, 41, 50)
		before, after, _ := l.Ends(heldOut)
		if first > 0.5 || last < 0.8 || after-before < 0.3 {
			t.Errorf("seed %d: training accuracy %.3f → %.3f, held out %.3f → %.3f; wanted at most 0.50 → at least "+
				"0.80, and 0.30 more", seed, first, last, before, after)
		}
	}
	control := options()
	control.score = func(a algorithm.Advantage) algorithm.Advantage { return shuffled{a} }
	l := learn(t, 1, 50, control)
	// it may fall: steps in no direction do a model no good
	if before, after, _ := l.Ends(heldOut); after-before > 0.03 {
		t.Errorf("with advantages shuffled inside each group held-out accuracy rose from %.3f to %.3f", before, after)
	}
}

func learn(t *testing.T, seed, steps int, o Options, more ...string) *console.Summary {
	t.Helper()
	n := strconv.Itoa(steps)
	cfg := load(t, t.TempDir(), and([]string{"seed=" + strconv.Itoa(seed), "buffer.total_steps=" + n,
		"trainer.total_steps=" + n}, more...)...)
	var out bytes.Buffer
	o.Out = &out
	begin := time.Now()
	sum, err := Run(context.Background(), cfg, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	what := ""
	if o.score != nil {
		what = ", advantages shuffled"
	}
	held := ""
	if before, after, ok := sum.Ends(heldOut); ok {
		held = fmt.Sprintf(", held out %s → %s", interval(before, heldOutTasks), interval(after, heldOutTasks))
	}
	t.Logf("seed %d%s, %d steps in %.0f s: reward %.3f → %.3f, training accuracy %.3f → %.3f (first and last 10 "+
		"steps; step 1: %.3f)%s, %.0f tokens/s sampled, %.0f trained",
		seed, what, steps, time.Since(begin).Seconds(), sum.Mean(rewardKey, 1, 10), sum.Mean(rewardKey, steps-9, steps),
		sum.Mean(trainAccuracy, 1, 10), sum.Mean(trainAccuracy, steps-9, steps), sum.Mean(trainAccuracy, 1, 1), held,
		sum.Mean("perf/sampled_tokens_per_second", 1, steps), sum.Mean("perf/train_tokens_per_second", 1, steps))
	return sum
}

// interval is an accuracy with its 95 % Wilson interval over n tasks (the samples of a task count as one).
func interval(p float64, n float64) string {
	const z = 1.96
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return fmt.Sprintf("%.3f [%.3f, %.3f]", p, mid-half, mid+half)
}

// testBase reports what the base model can do: greedy, and one of eight.
func testBase(t *testing.T) {
	t.Helper()
	for name, overrides := range map[string][]string{
		"greedy": {"buffer.explorer_input.eval_tasksets[0].rollout_args.temperature=0"},
		"pass@8": {"buffer.explorer_input.eval_tasksets[0].repeat_times=8"},
	} {
		sum, err := Run(context.Background(), load(t, t.TempDir(), append(overrides, "mode=bench", "seed=1")...),
			options())
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range sum.Lines[0].Metrics.Keys() {
			if strings.Contains(key, "accuracy/mean@") || strings.Contains(key, "accuracy/best@8") {
				t.Logf("base, %s: %s = %.3f", name, key, sum.Lines[0].Metrics[key])
			}
		}
	}
}

// shuffled gives the advantages of each group to its members at random: the same sizes, no information.
type shuffled struct{ algorithm.Advantage }

func (s shuffled) Assign(list []*experience.Experience, r *rand.Rand) ([]*experience.Experience, map[string]float64,
	error) {
	list, m, err := s.Advantage.Assign(list, r)
	for _, g := range experience.GroupBy(list, experience.EID.TID) {
		values := make([]float32, len(g.Experiences))
		for i, e := range g.Experiences {
			values[i] = first(e.Advantages)
		}
		r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		for i, e := range g.Experiences {
			for j := range e.Advantages {
				e.Advantages[j], e.Returns[j] = values[i], values[i]
			}
		}
	}
	return list, m, err
}

func first(v []float32) float32 {
	if len(v) == 0 {
		return 0
	}
	return v[0]
}
