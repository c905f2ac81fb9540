package explorer

import (
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/experience"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// rolloutMetrics sums a step up as upstream does: each metric's mean over the runs of a task, then mean, max and min over tasks.
func rolloutMetrics(groups [][]*experience.Experience) map[string]float64 {
	perTask := map[string][]float64{}
	finished := 0
	for _, g := range groups {
		if len(g) > 0 {
			finished++
		}
		for name, values := range byMetric(g) {
			perTask[name] = append(perTask[name], mean(values))
		}
	}
	m := map[string]float64{"rollout/finished_task_count": float64(finished)}
	for name, values := range perTask {
		m["rollout/"+name+"/mean"], m["rollout/"+name+"/max"], m["rollout/"+name+"/min"] = mean(values), slices.Max(values), slices.Min(values)
	}
	return m
}

// evalMetrics adds an evaluated taskset's statistics over repetitions and tasks; of the tasks the mean, or with detailed the spread too.
func evalMetrics(m map[string]float64, prefix string, groups [][]*experience.Experience, times []took, detailed bool) {
	var tasks []map[string][]float64
	for i, g := range groups {
		if len(g) > 0 {
			values := byMetric(g)
			values[runTime], values[taskTime] = times[i].run, times[i].task
			tasks = append(tasks, values)
		}
	}
	maps.Copy(m, monitor.Evaluation(prefix, tasks, detailed))
}

// byMetric gathers each metric's values over the experiences of a task, in order of runs, and the reward.
func byMetric(g []*experience.Experience) map[string][]float64 {
	values := map[string][]float64{}
	for _, e := range g {
		for _, name := range slices.Sorted(maps.Keys(e.Metrics)) {
			values[name] = append(values[name], e.Metrics[name])
		}
		if e.Reward != nil {
			values["reward"] = append(values["reward"], *e.Reward)
		}
	}
	return values
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
