package monitor

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
)

// repeats is the statistics of one metric over the n >= 1 runs of one evaluation task, as verl and Trinity-RFT compute
// them: mean@n, and for n > 1 std@n (population) and best@k and worst@k for k = 2, 4, 8 ... below n and n itself. The
// latter two are the mean of the largest and of the smallest of k values drawn with replacement, over 1,000 draws with
// numpy's legacy generator seeded with 42, so that the numbers are upstream's to the last draw.
func repeats(values []float64) Metrics {
	n := len(values)
	if n == 0 {
		return Metrics{}
	}
	mean := moment.Mean(values)
	m := Metrics{fmt.Sprintf("mean@%d", n): mean}
	if n == 1 {
		return m
	}
	m[fmt.Sprintf("std@%d", n)] = moment.Deviation(values, mean, n)
	for _, k := range subsetSizes(n) {
		best, worst := bootstrap(values, k)
		m[fmt.Sprintf("best@%d", k)], m[fmt.Sprintf("worst@%d", k)] = best, worst
	}
	return m
}

func subsetSizes(n int) []int {
	var sizes []int
	for k := 2; k < n; k *= 2 {
		sizes = append(sizes, k)
	}
	return append(sizes, n)
}

const (
	bootstrapDraws = 1000
	bootstrapSeed  = 42
)

// bootstrap returns the mean largest and the mean smallest of k values drawn with replacement.
func bootstrap(values []float64, k int) (best, worst float64) {
	if moment.Equal(values) {
		return values[0], values[0]
	}
	r := python.Legacy(bootstrapSeed)
	for range bootstrapDraws {
		high, low := math.Inf(-1), math.Inf(1)
		for range k {
			v := values[r.LegacyInt(len(values))]
			high, low = max(high, v), min(low, v)
		}
		best += high
		worst += low
	}
	return best / bootstrapDraws, worst / bootstrapDraws
}

// Evaluation returns the metrics of one evaluated taskset under eval/<taskset>/ (or bench/<taskset>/, the prefix given
// without its last slash): finished_task_count and, for each metric of the tasks, its Repeats averaged over the tasks
// that have it. Metrics that measure time are only averaged. tasks has for each finished task the values of its runs.
// With detailed every key becomes four: /mean, /max, /min and /std (population) over the tasks. A metric whose name
// says how it is reduced (see Suffixed) is one number of all runs, name/<how>.
func Evaluation(prefix string, tasks []map[string][]float64, detailed bool) Metrics {
	columns, reduced := make(map[string][]float64), make(map[string][]float64)
	for _, task := range tasks {
		for _, name := range slices.Sorted(maps.Keys(task)) {
			if base, by := Suffixed(name); by != "mean" {
				reduced[base+"/"+by] = append(reduced[base+"/"+by], Reduced(by, task[name]))
				continue
			}
			if IsTime(name) {
				columns[name] = append(columns[name], moment.Mean(task[name]))
				continue
			}
			for k, v := range repeats(task[name]) {
				columns[name+"/"+k] = append(columns[name+"/"+k], v)
			}
		}
	}
	out := Metrics{prefix + "/finished_task_count": float64(len(tasks))}
	for k, v := range columns {
		if !detailed {
			out[prefix+"/"+k] = moment.Mean(v)
			continue
		}
		out.Merge(Summary(prefix+"/"+k, v))
		out[prefix+"/"+k+"/std"] = moment.Deviation(v, moment.Mean(v), len(v))
	}
	for k, v := range reduced {
		out[prefix+"/"+k] = Reduced(k[strings.LastIndexByte(k, '/')+1:], v)
	}
	return out
}
