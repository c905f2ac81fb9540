package explorer

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/experience"
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

// evalMetrics adds mean@n, std@n, and the exact best@k and worst@k, each the mean over tasks. best@k is the expected maximum of k of a task's n values
// drawn without replacement: for accuracies of 0 and 1 that is pass@k (Chen et al. 2021, arXiv 2107.03374).
func evalMetrics(m map[string]float64, prefix string, groups [][]*experience.Experience) {
	sums, finished := map[string][]float64{}, 0
	for _, g := range groups {
		if len(g) > 0 {
			finished++
		}
		for name, values := range byMetric(g) {
			for stat, v := range taskStats(values) {
				sums[name+"/"+stat] = append(sums[name+"/"+stat], v)
			}
		}
	}
	m[prefix+"finished_task_count"] = float64(finished)
	for name, values := range sums {
		m[prefix+name] = mean(values)
	}
}

func taskStats(values []float64) map[string]float64 {
	n := len(values)
	at := func(name string, k int) string { return name + "@" + strconv.Itoa(k) }
	mu, varsum := mean(values), 0.0
	for _, v := range values {
		varsum += float64((v - mu) * (v - mu))
	}
	stats := map[string]float64{at("mean", n): mu}
	if n == 1 {
		return stats
	}
	stats[at("std", n)] = math.Sqrt(varsum / float64(n))
	asc := slices.Sorted(slices.Values(values))
	desc := slices.Clone(asc)
	slices.Reverse(desc)
	for _, k := range ladder(n) {
		stats[at("best", k)], stats[at("worst", k)] = expectedTop(asc, k), expectedTop(desc, k)
	}
	return stats
}

// ladder is 2, 4, 8, … below n, and n.
func ladder(n int) []int {
	var ks []int
	for k := 2; k < n; k *= 2 {
		ks = append(ks, k)
	}
	return append(ks, n)
}

// expectedTop is the expectation of the last of k values drawn without replacement from the ordered values:
// Σ v[i]·C(i,k−1)/C(n,k).
func expectedTop(ordered []float64, k int) float64 {
	n, sum := len(ordered), 0.0
	p := 1.0 // the chance that value i is the last of the k: from the top down
	for i := n - 1; i >= k-1; i-- {
		if i == n-1 {
			p = float64(k) / float64(n)
		} else {
			p *= float64(i+1-(k-1)) / float64(i+1)
		}
		sum += p * ordered[i]
	}
	return sum
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
