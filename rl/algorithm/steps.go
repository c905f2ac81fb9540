package algorithm

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// stepWise is grpo for episodes of several steps: the last step's reward is the run's, and every step of a run gets the
// run's score.
type stepWise struct {
	epsilon   float64
	perStep   bool // divide the score by the number of steps
	threshold *float64
	level     string // of the deviation that scores are divided by: group or batch; none: they are not
}

func newStepWise(args Args) (Advantage, error) {
	r := arg.Read(args)
	a := stepWise{r.Float("epsilon", 1e-6), r.Bool("enable_step_norm", false), floatOrNil(r, "std_threshold"),
		r.Word("std_cal_level", "group", "batch", "none")}
	r.Require(a.epsilon > 0, "epsilon", a.epsilon, "greater than 0")
	return a, r.Close()
}

// Assign implements Advantage. Metrics are grpo's and experience_count (kept), filtered_count (dropped) and
// skipped_group_ratio.
func (a stepWise) Assign(list []*experience.Experience, _ *rand.Rand) ([]*experience.Experience, map[string]float64,
	error) {
	tasks := experience.GroupBy(list, experience.EID.TID)
	var all []float64
	rewards := make([][]float64, len(tasks))
	for k, task := range tasks {
		var err error
		if rewards[k], err = rewardsOf(lastSteps(task.Experiences)); err != nil {
			return nil, nil, err
		}
		all = append(all, rewards[k]...)
	}
	var stats groupStats
	var kept []*experience.Experience
	skipped := 0
	for k, task := range tasks {
		m, std := groupMoments(rewards[k], &stats)
		if a.threshold != nil && (len(rewards[k]) == 1 || std <= *a.threshold) {
			skipped++
			continue
		}
		scale := 1.0
		switch a.level {
		case "group":
			scale = std + a.epsilon
		case "batch":
			scale = batchDeviation(all) + a.epsilon
		}
		for i, run := range experience.GroupBy(task.Experiences, experience.EID.RID) {
			score := (rewards[k][i] - m) / scale
			if a.perStep {
				score /= float64(len(run.Experiences))
			}
			for _, e := range run.Experiences {
				setAdvantage(e, score)
			}
			kept = append(kept, run.Experiences...)
		}
	}
	metrics := stats.metrics()
	metrics["experience_count"] = float64(len(kept))
	metrics["filtered_count"] = float64(len(list) - len(kept))
	metrics["skipped_group_ratio"] = float64(skipped) / float64(max(1, len(tasks)))
	return kept, metrics, nil
}

// lastSteps is the last experience of each run, in list order.
func lastSteps(task []*experience.Experience) []*experience.Experience {
	var out []*experience.Experience
	for _, run := range experience.GroupBy(task, experience.EID.RID) {
		out = append(out, run.Experiences[len(run.Experiences)-1])
	}
	return out
}

// gigpo adds two scores: of the episode among the runs of its task, and of the step among all steps that were taken in
// the same state of the environment (Feng et al., arXiv 2505.10978).
//
// A workflow names the state and rewards a step through an experience's info or metrics: under stateKey a number that
// is equal for equal states of equal tasks (such as the first 52 bits of a hash of the observation), under rewardKey
// the step's reward. A run without step rewards has its reward at the last step.
type gigpo struct {
	omega, gamma, epsilon float64
	normalise             bool
	rewardKey, stateKey   string
}

func newGiGPO(args Args) (Advantage, error) {
	r := arg.Read(args)
	a := gigpo{r.Float("omega", 1), r.Float("gamma", 1), r.Float("epsilon", 1e-6),
		r.Word("fnorm", "none", "std") == "std",
		r.Text("step_reward_key", "step_reward"), r.Text("env_state_hash_key", "env_state_hash")}
	r.Require(a.epsilon > 0, "epsilon", a.epsilon, "greater than 0")
	r.Require(a.gamma >= 0 && a.gamma <= 1, "gamma", a.gamma, "between 0 and 1")
	return a, r.Close()
}

// Reads are the numbers of experiences without which no step has a score of its own.
func (a gigpo) Reads() []string { return []string{a.stateKey} }

// Assign implements Advantage; it keeps list and its order.
func (a gigpo) Assign(list []*experience.Experience, _ *rand.Rand) ([]*experience.Experience, map[string]float64,
	error) {
	episode := make(map[*experience.Experience]float64)
	following := make(map[*experience.Experience]float64) // discounted reward from this step on
	var stats groupStats
	for _, task := range experience.GroupBy(list, experience.EID.TID) {
		runs := experience.GroupBy(task.Experiences, experience.EID.RID)
		totals := make([]float64, len(runs))
		for i, run := range runs {
			var err error
			if totals[i], err = a.returns(run.Experiences, following); err != nil {
				return nil, nil, err
			}
		}
		scores, m, denominator := a.normalised(totals)
		stats.add("episode_reward_mean", m)
		stats.add("episode_reward_std", denominator)
		for i, run := range runs {
			for _, e := range run.Experiences {
				episode[e] = scores[i]
			}
		}
	}
	step, metrics := a.anchored(list, following)
	sumE, sumS := 0.0, 0.0
	for _, e := range list {
		setAdvantage(e, episode[e]+float64(a.omega*step[e]))
		sumE, sumS = sumE+math.Abs(episode[e]), sumS+math.Abs(step[e])
	}
	n := float64(max(1, len(list)))
	maps.Copy(metrics, stats.metricsUnder("gigpo"))
	metrics["gigpo/mean_abs_A_E"], metrics["gigpo/mean_abs_A_S"] = sumE/n, sumS/n
	metrics["experience_count"] = float64(len(list))
	return list, metrics, nil
}

// returns notes the discounted reward from each step of a run on, and returns the run's undiscounted sum.
func (a gigpo) returns(run []*experience.Experience, into map[*experience.Experience]float64) (float64, error) {
	steps := slices.Clone(run)
	slices.SortStableFunc(steps, func(x, y *experience.Experience) int { return cmp.Compare(x.EID.Step, y.EID.Step) })
	rewards := make([]float64, len(steps))
	graded := false
	for i, e := range steps {
		r, ok := e.Measured(a.rewardKey)
		rewards[i], graded = r, graded || ok
	}
	if !graded {
		last, err := rewardsOf(steps[len(steps)-1:])
		if err != nil {
			return 0, err
		}
		rewards[len(steps)-1] = last[0]
	}
	total, next := 0.0, 0.0
	for i := len(steps) - 1; i >= 0; i-- {
		next = rewards[i] + float64(a.gamma*next)
		into[steps[i]] = next
		total += rewards[i]
	}
	return total, nil
}

// anchored scores the steps that share a state with others.
func (a gigpo) anchored(list []*experience.Experience,
	following map[*experience.Experience]float64) (map[*experience.Experience]float64, map[string]float64) {
	var states []float64
	groups := make(map[float64][]*experience.Experience)
	for _, e := range list {
		state, ok := e.Measured(a.stateKey)
		if !ok {
			continue
		}
		if len(groups[state]) == 0 {
			states = append(states, state)
		}
		groups[state] = append(groups[state], e)
	}
	step := make(map[*experience.Experience]float64)
	shared := 0
	for _, state := range states {
		group := groups[state]
		if len(group) < 2 {
			continue
		}
		shared++
		values := make([]float64, len(group))
		for i, e := range group {
			values[i] = following[e]
		}
		scores, _, _ := a.normalised(values)
		for i, e := range group {
			step[e] = scores[i]
		}
	}
	return step, map[string]float64{
		"gigpo/anchor_groups_total":    float64(len(states)),
		"gigpo/anchor_groups_size_gt1": float64(shared),
		"gigpo/anchor_group_hit_ratio": float64(shared) / float64(max(1, len(states))),
	}
}

// normalised is (x-m)/(denominator+epsilon), the denominator being the deviation or 1; one alone has m 0.
func (a gigpo) normalised(x []float64) (scores []float64, m, denominator float64) {
	denominator = 1
	if len(x) > 1 {
		m = moment.Mean(x)
		if a.normalise {
			denominator = stdDev(x, m)
		}
	}
	return shifted(x, m, 1/(denominator+a.epsilon)), m, denominator
}
