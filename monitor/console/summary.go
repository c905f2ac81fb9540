package console

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/plot"
)

// Summary is the result of a finished run.
type Summary struct {
	Dir   string
	Steps int
	Lines []monitor.Line // of metrics.jsonl

	log string // the file that they are of
}

const (
	rewardKey   = "critic/rewards/mean"
	accuracyKey = "rollout/accuracy/mean"
	nllKey      = "actor/nll"        // nats per token, of examples
	lossKey     = "actor/final_loss" // as the optimizer sees it
)

// Summarize reads the records of a job back, of which log is the file of metrics.
func Summarize(dir, log string) (*Summary, error) {
	lines, err := monitor.ReadLog(filepath.Join(dir, log))
	if err != nil {
		return nil, err
	}
	s := &Summary{Dir: dir, Lines: lines, log: log}
	for _, l := range lines {
		if !ofTheEnd(l) {
			s.Steps = l.Step
		}
	}
	return s, nil
}

// ofTheEnd reports whether a line has only the evaluation of what a run ended with before its last step.
func ofTheEnd(l monitor.Line) bool {
	for key := range l.Metrics {
		if !strings.HasPrefix(key, "eval/") && key != "time/eval" {
			return false
		}
	}
	return len(l.Metrics) > 0 && l.Step > 0
}

// Rewarded reports whether there were rewards.
func (s *Summary) Rewarded() bool { return s.has(rewardKey) }

// DrawRewards draws the rewards as an SVG picture.
func (s *Summary) DrawRewards(w io.Writer) error {
	r, err := plot.Load(s.Dir, rewardKey)
	if err != nil {
		return err
	}
	return plot.Rewards([]plot.Run{r}, w, plot.SVG)
}

// has reports whether a line has a metric.
func (s *Summary) has(key string) bool {
	_, _, ok := s.Ends(key)
	return ok
}

// Mean is the mean of a metric over the lines of steps first to last.
func (s *Summary) Mean(key string, first, last int) float64 {
	sum, n := 0.0, 0
	for _, l := range s.Lines {
		if v, ok := l.Metrics[key]; ok && l.Step >= first && l.Step <= last {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(n)
}

// Ends are the first and the last value of a metric.
func (s *Summary) Ends(key string) (first, last float64, ok bool) {
	for _, l := range s.Lines {
		if v, has := l.Metrics[key]; has {
			if !ok {
				first, ok = v, true
			}
			last = v
		}
	}
	return first, last, ok
}

// Write prints how the run went and where its files are.
func (s *Summary) Write(w io.Writer) error {
	var t strings.Builder
	s.writeMeans(&t)
	s.writeEvaluations(&t)
	seconds := 0.0
	for _, l := range s.Lines {
		seconds += l.Metrics["time/step"]
	}
	if seconds > 0 {
		fmt.Fprintf(&t, "%-8s %d steps in %.0f s\n", "time", s.Steps, seconds)
	}
	there := s.results()
	fmt.Fprintf(&t, "%-8s %s (%s)\n", "results", s.Dir, strings.Join(there, ", "))
	if slices.Contains(there, "rollouts/") {
		fmt.Fprintf(&t, "%-8s trinity studio %s shows it in a browser, down to the token\n", "look", s.Dir)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// writeMeans shows how the means of the first and the last steps compare: of ten, or of half of them all.
func (s *Summary) writeMeans(t *strings.Builder) {
	policy := s.has(rewardKey) || s.has(nllKey)
	for _, c := range []struct{ key, name string }{
		{rewardKey, "reward"}, {accuracyKey, "accuracy"}, {nllKey, "nll"}, {lossKey, "loss"},
	} {
		values := s.values(c.key)
		window := min(10, len(values)/2)
		switch {
		case len(values) == 0, c.key == lossKey && policy:
			continue
		case window == 0:
			fmt.Fprintf(t, "%-8s %.3f (one step)\n", c.name, values[0])
			continue
		}
		of := "step"
		if window > 1 {
			of = fmt.Sprintf("%d steps", window)
		}
		fmt.Fprintf(t, "%-8s %.3f → %.3f (first and last %s)\n", c.name, mean(values[:window]),
			mean(values[len(values)-window:]), of)
	}
}

// values are a metric's values, line by line.
func (s *Summary) values(key string) (values []float64) {
	for _, l := range s.Lines {
		if v, ok := l.Metrics[key]; ok {
			values = append(values, v)
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

// writeEvaluations shows what was measured on whole tasksets.
func (s *Summary) writeEvaluations(t *strings.Builder) {
	for _, key := range evaluations(s.keys(), "") {
		first, last, _ := s.Ends(key)
		prefix, bench := strings.CutPrefix(key, "bench/")
		switch {
		case bench:
			fmt.Fprintf(t, "%-8s %s: %.4f\n", "bench", prefix, last)
		case len(s.values(key)) == 1:
			fmt.Fprintf(t, "%-8s %.3f (%s)\n", "held out", last, key)
		default:
			fmt.Fprintf(t, "%-8s %.3f → %.3f (%s)\n", "held out", first, last, key)
		}
	}
}

// keys are the metrics of all lines, each once.
func (s *Summary) keys() (keys []string) {
	seen := map[string]bool{}
	for _, l := range s.Lines {
		for _, key := range l.Metrics.Keys() {
			if !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// results are the files in the job directory that a user may look for, if they exist.
func (s *Summary) results() []string {
	var there []string
	for _, name := range []string{s.log, "reward.svg", "rollouts/", "monitor/tensorboard", "monitor/wandb",
		"monitor/trackio"} {
		if _, err := os.Stat(filepath.Join(s.Dir, name)); err == nil {
			there = append(there, name)
		}
	}
	entries, err := os.ReadDir(s.Dir)
	saved := func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "global_step_") }
	if err == nil && slices.ContainsFunc(entries, saved) {
		there = append(there, "global_step_*")
	}
	return there
}
