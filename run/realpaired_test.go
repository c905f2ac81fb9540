package run

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// compare prints how much more accurate one job's last state is than another's, over the same problems: with the 95 %
// interval of the mean difference between their answers to one problem.
func (r realRun) compare(what, before, after string, sets ...string) {
	r.Helper()
	for _, set := range sets {
		a, b := r.accuracies(before, set), r.accuracies(after, set)
		if len(a) != realProblems || len(b) != realProblems {
			r.Fatalf("%s: %d and %d problems are evaluated, want %d", set, len(a), len(b), realProblems)
		}
		var sum, squares float64
		for problem, v := range b {
			d := v - a[problem]
			sum += d
			squares += d * d
		}
		mean := sum / realProblems
		half := 1.96 * math.Sqrt((squares/realProblems-mean*mean)/realProblems)
		verdict := "significant"
		if math.Abs(mean) <= half {
			verdict = "not significant"
		}
		r.Logf("%s, %s, problem by problem: %+.4f ± %.4f, %s", what, set, mean, half, verdict)
	}
}

// accuracies are the mean accuracies of the answers to each problem, as a job's last evaluation recorded them.
func (r realRun) accuracies(name, set string) map[int]float64 {
	r.Helper()
	files, err := filepath.Glob(r.folder(filepath.FromSlash(name), "rollouts", "*_"+set+"_step_*.jsonl"))
	if err != nil || len(files) == 0 {
		r.Fatalf("%s has no evaluation of %s: %v", name, set, err)
	}
	f, err := os.Open(files[len(files)-1])
	if err != nil {
		r.Fatal(err)
	}
	defer f.Close()
	sums, counts := map[int]float64{}, map[int]float64{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var s rollout.Record
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			r.Fatalf("%s: %v", f.Name(), err)
		}
		sums[s.TaskIndex] += s.Metrics["accuracy"]
		counts[s.TaskIndex]++
	}
	for problem, n := range counts {
		sums[problem] /= n
	}
	return sums
}
