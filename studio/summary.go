package studio

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/studio/curve"
	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// rewardNames are the metrics that tell the reward, the first that a run has.
var rewardNames = []string{"critic/rewards/mean", "rollout/reward/mean", "train/rewards_mean", "reward/mean",
	"env/all/reward/total", "reward/total", "rewards/mean", "train/mean_reward", "reward"}

// lossNames are the metrics that tell the loss of a run that trains on examples, the first that it has.
var lossNames = []string{"actor/nll", "actor/final_loss", "train_mean_nll", "train/nll", "optim/loss", "loss"}

// sparkPoints is how many points a sparkline has at most.
const sparkPoints = 60

// summarize makes a run's row of the list.
func summarize(l source.Look, log *curve.Log) summary {
	s := summary{look: l, step: l.Step, reward: [][2]float64{}, loss: [][2]float64{}}
	if last, ok := log.Last(); ok {
		s.step = max(s.step, last)
	}
	if name := rewardName(log); name != "" {
		s.reward = sparkOf(log, name)
	} else if name := log.First(lossNames...); name != "" {
		s.loss = sparkOf(log, name)
	}
	if name := log.First("perf/sampled_tokens_per_second", "sample/tokens_per_second"); name != "" {
		_, values := log.Series(name)
		s.speed = mean(lastOf(values, 10))
	}
	s.evaluation = evaluated(log)
	if l.State == source.Running && l.Steps > s.step {
		if name := log.First("time/step", "time/total"); name != "" {
			_, values := log.Series(name)
			if each := mean(lastOf(values, 10)); each != nil {
				left := *each * float64(l.Steps-s.step)
				s.left = &left
			}
		}
	}
	return s
}

// sparkOf is the points of a sparkline.
func sparkOf(log *curve.Log, name string) [][2]float64 {
	steps, values := log.Series(name)
	c := curve.Thin(steps, values, sparkPoints, 0, math.MaxInt, noTime)
	points := [][2]float64{}
	for i := range c.Step {
		points = append(points, [2]float64{float64(c.Step[i]), c.Value[i]})
	}
	return points
}

func noTime(int) (float64, bool) { return 0, false }

// rewardName is the name of a run's reward among its metrics, "" if it has none.
func rewardName(log *curve.Log) string {
	if name := log.First(rewardNames...); name != "" {
		return name
	}
	for _, name := range log.Names() {
		if strings.HasPrefix(name, "env/") && strings.HasSuffix(name, "reward/total") {
			return name
		}
	}
	return ""
}

func lastOf(values []float64, n int) []float64 { return values[max(0, len(values)-n):] }

func mean(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	m := moment.Mean(values)
	return &m
}

var evaluationName = regexp.MustCompile(
	`^(?:eval|test|bench)/(?:.*/)?(?:accuracy|correct|score|reward)(?:/mean@\d+|/mean|/total)?$`)

// measured are the metrics of evaluations by measures of one's own.
var measured = regexp.MustCompile(`^(?:eval|bench)/.+/mean@\d+(?:/mean)?$`)

// evaluated is a run's evaluation at its beginning and at its end, by accuracy if it has one, else by the reward, else
// by what else it measured.
func evaluated(log *curve.Log) *evaluation {
	best, names := "", log.Names()
	for _, name := range names {
		if evaluationName.MatchString(name) && (best == "" || !strings.Contains(best, "accuracy") &&
			(strings.Contains(name, "accuracy") || strings.Contains(name, "correct"))) {
			best = name
		}
	}
	if i := slices.IndexFunc(names, measured.MatchString); best == "" && i >= 0 {
		best = names[i]
	}
	if best == "" {
		return nil
	}
	_, values := log.Series(best)
	e := &evaluation{Name: best}
	if len(values) > 0 {
		e.Before = &values[0]
	}
	if len(values) > 1 {
		e.After = &values[len(values)-1]
	}
	return e
}
