package record

import (
	"slices"
	"testing"
)

// The lines of explore steps that hand on what each says, and the same lines when the run continues in the middle.
func TestTrainLines(t *testing.T) {
	for name, c := range map[string]struct {
		given, want []int
	}{
		"as planned":                         {[]int{8, 8, 8}, []int{1, 3, 5}},
		"more, so that a step trains later":  {[]int{24, 8, 8}, []int{1, 7, 9}},
		"less, so that a step trains sooner": {[]int{0, 4, 8, 8}, []int{1, 1, 2, 4}},
		"the middle of a train step":         {[]int{10, 8, 8}, []int{1, 3, 5}},
		"first more, then nothing":           {[]int{24, 0, 0, 0, 0}, []int{1, 7, 7, 7, 7}},
	} {
		whole := &TrainLines{Trained: 4, Next: 1}
		sum := 0
		for i, n := range c.given {
			if got := whole.Line(i+1, n); got != c.want[i] {
				t.Errorf("%s: explore step %d stands in line %d, want %d", name, i+1, got, c.want[i])
			}
			sum += n
			rest := &TrainLines{Trained: 4, Next: i + 2, Given: sum}
			var lines []int
			for j, n := range c.given[i+1:] {
				lines = append(lines, rest.Line(i+2+j, n))
			}
			if !slices.Equal(lines, c.want[i+1:]) {
				t.Errorf("%s: after a restart behind explore step %d the lines are %v, want %v", name, i+1, lines,
					c.want[i+1:])
			}
		}
	}
}

// What explore steps of one line count is added up; of other metrics the last step's stand there.
func TestCountsOfALine(t *testing.T) {
	const failed, reward = "rollout/failed_task_count", "rollout/reward/mean"
	r := Explored{}
	for i, c := range []struct {
		line         int
		failed, want float64
	}{{1, 1, 1}, {1, 0, 1}, {1, 2, 3}, {2, 1, 1}} {
		m := map[string]float64{failed: c.failed, reward: float64(i)}
		if r.count(c.line, m); m[failed] != c.want || m[reward] != float64(i) {
			t.Errorf("explore step %d: %v, want %v failed tasks in its line", i+1, m, c.want)
		}
	}
}
