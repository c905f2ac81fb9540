package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// compare prints how much more accurate one job's last state is than another's, over the same problems: with the 95 %
// interval of the mean difference between their answers to one problem.
func (x *experiment) compare(what, before, after string, sets ...string) part {
	return func(context.Context) error {
		for _, set := range sets {
			a, err := x.accuracies(before, set)
			if err != nil {
				return err
			}
			b, err := x.accuracies(after, set)
			if err != nil {
				return err
			}
			if len(a) != testProblems || len(b) != testProblems {
				return fmt.Errorf("%s: %d and %d problems are evaluated, want %d", set, len(a), len(b), testProblems)
			}
			mean, half := difference(a, b)
			verdict := "significant"
			if math.Abs(mean) <= half {
				verdict = "not significant"
			}
			fmt.Printf("%s, %s, problem by problem: %+.4f ± %.4f, %s\n", what, set, mean, half, verdict)
		}
		return nil
	}
}

// difference is the mean of b - a over the problems, and half its 95 % interval.
func difference(a, b map[int]float64) (mean, half float64) {
	n := float64(len(b))
	var sum, squares float64
	for problem, v := range b {
		d := v - a[problem]
		sum += d
		squares += d * d
	}
	mean = sum / n
	return mean, 1.96 * math.Sqrt((squares/n-mean*mean)/n)
}

// accuracies are the mean accuracies of the answers to each problem, as a job's last evaluation recorded them.
func (x *experiment) accuracies(name, set string) (map[int]float64, error) {
	files, err := filepath.Glob(x.Folder(filepath.FromSlash(name), "rollouts", "*_"+set+"_step_*.jsonl"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no evaluation of %s: %v", name, set, err)
	}
	f, err := os.Open(files[len(files)-1])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sums, counts := map[int]float64{}, map[int]float64{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var s rollout.Record
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		sums[s.TaskIndex] += s.Metrics["accuracy"]
		counts[s.TaskIndex]++
	}
	for problem, n := range counts {
		sums[problem] /= n
	}
	return sums, lines.Err()
}
