package explorer

import (
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// rolloutMetrics sums a step up as upstream does: each metric's mean over the runs of a task, then mean, max and min
// over tasks. One whose name says how it is reduced (see monitor.Suffixed) is one number of all runs.
func rolloutMetrics(groups [][]*experience.Experience) map[string]float64 {
	perTask := map[string][]float64{}
	finished := 0
	rare := rareMetrics(groups)
	for _, g := range groups {
		if len(g) > 0 {
			finished++
		}
		for name, values := range byMetric(g) {
			_, by := monitor.Suffixed(name)
			perTask[name] = append(perTask[name], monitor.Reduced(by, values))
		}
		if n := sumOf(g, workflow.NewSequences); len(g) > 0 && rare[workflow.NewSequences] > 0 {
			perTask[workflow.NewSequences] = append(perTask[workflow.NewSequences], n/float64(len(g)))
		}
	}
	m := map[string]float64{"rollout/finished_task_count": float64(finished)}
	if n := rare[workflow.OutOfRoom]; n > 0 {
		m["rollout/out_of_room_count"] = n
	}
	for name, values := range perTask {
		if base, by := monitor.Suffixed(name); by != "mean" {
			m["rollout/"+base+"/"+by] = monitor.Reduced(by, values)
			continue
		}
		m["rollout/"+name+"/mean"], m["rollout/"+name+"/max"], m["rollout/"+name+"/min"] = moment.Mean(values),
			slices.Max(values), slices.Min(values)
	}
	return m
}

// evalMetrics adds an evaluated taskset's statistics over repetitions and tasks; of the tasks the mean, or with
// detailed the spread too.
func evalMetrics(m map[string]float64, prefix string, groups [][]*experience.Experience, times []took, detailed bool) {
	var tasks []map[string][]float64
	for i, g := range groups {
		if len(g) > 0 {
			values := byMetric(g)
			if t := &times[i]; len(t.run) > 0 { // this process ran it
				values[runTime], values[taskTime] = t.run, t.task
			}
			tasks = append(tasks, values)
		}
	}
	maps.Copy(m, monitor.Evaluation(prefix, tasks, detailed))
	if n := rareMetrics(groups)[workflow.OutOfRoom]; n > 0 {
		m[prefix+"/out_of_room_count"] = n
	}
}

// rareMetrics are the sums of the metrics that experiences have only where they are not 0.
func rareMetrics(groups [][]*experience.Experience) map[string]float64 {
	sums := map[string]float64{}
	for _, g := range groups {
		for _, name := range []string{workflow.OutOfRoom, workflow.NewSequences} {
			sums[name] += sumOf(g, name)
		}
	}
	return sums
}

func sumOf(g []*experience.Experience, name string) float64 {
	sum := 0.0
	for _, e := range g {
		sum += e.Metrics[name]
	}
	return sum
}

// totalReward is the metric of an experience's reward. A part with this name, such as that of a reward function
// called reward, is not counted beside it.
const totalReward = "reward"

// byMetric gathers each metric's values over the experiences of a task, in order of runs, and the reward; rare
// ones and those of the info are left out.
func byMetric(g []*experience.Experience) map[string][]float64 {
	values := map[string][]float64{}
	for _, e := range g {
		for _, name := range slices.Sorted(maps.Keys(e.Metrics)) {
			key := strings.TrimSuffix(name, ":mean") // the same as none
			if name != workflow.OutOfRoom && name != workflow.NewSequences &&
				!strings.HasPrefix(name, experience.InfoPrefix) && (key != totalReward || e.Reward == nil) {
				values[key] = append(values[key], e.Metrics[name])
			}
		}
		if e.Reward != nil {
			values[totalReward] = append(values[totalReward], *e.Reward)
		}
	}
	return values
}
