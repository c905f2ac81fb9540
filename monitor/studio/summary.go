package studio

import (
	"math"
	"regexp"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/monitor/studio/curve"
	"github.com/seed-d9ad8ee0/trinity/monitor/studio/source"
)

// rewardNames are the metrics that tell the reward, the first that a run has.
var rewardNames = []string{"critic/rewards/mean", "rollout/reward/mean", "train/rewards_mean", "reward/mean",
	"env/all/reward/total", "reward/total", "rewards/mean", "train/mean_reward", "reward"}

// sparkPoints is how many points a sparkline has at most.
const sparkPoints = 60

// summarize is what the list shows of a run.
func summarize(l source.Look, log *curve.Log) summary {
	s := summary{look: l, step: l.Step, reward: [][2]float64{}}
	if last, ok := log.Last(); ok {
		s.step = max(s.step, last)
	}
	if name := rewardName(log); name != "" {
		steps, values := log.Series(name)
		c := curve.Thin(steps, values, sparkPoints, 0, math.MaxInt, noTime)
		for i := range c.Step {
			s.reward = append(s.reward, [2]float64{float64(c.Step[i]), c.Value[i]})
		}
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

// evaluated is a run's evaluation at its beginning and at its end, by accuracy if it has one.
func evaluated(log *curve.Log) *evaluation {
	best := ""
	for _, name := range log.Names() {
		if evaluationName.MatchString(name) && (best == "" || !strings.Contains(best, "accuracy") &&
			(strings.Contains(name, "accuracy") || strings.Contains(name, "correct"))) {
			best = name
		}
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
