package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// table runs each file that is accepted for two steps on the shipped model, and prints a row of each: what its steps
// scored, or the sentence that refuses it. Files of one folder for two processes, an explorer's and a trainer's, run
// beside each other.
func table(ctx context.Context, folder, only string) error {
	files, err := yamlBelow(folder)
	if err != nil {
		return err
	}
	b, err := newBed()
	if err != nil {
		return err
	}
	defer b.close()
	counts := map[string]int{}
	for i, group := range together(files, only) {
		for j, result := range b.example(i, 2).beside(ctx, group) {
			name, _ := filepath.Rel(folder, group[j])
			fmt.Printf("%s: %s\n", name, result)
			fate, _, _ := strings.Cut(result, " ")
			counts[fate]++
		}
	}
	fmt.Printf("%d files: %d run, %d refused\n", counts["runs:"]+counts["refused:"]+counts["failed:"], counts["runs:"],
		counts["refused:"])
	if n := counts["failed:"]; n > 0 {
		return fmt.Errorf("%d files fail", n)
	}
	return ctx.Err()
}

// together groups the files whose path contains only: those of one run are beside each other.
func together(files []string, only string) (groups [][]string) {
	for i, file := range files {
		last := len(groups) - 1
		switch {
		case !strings.Contains(file, only):
		case last >= 0 && apart(file) && apart(groups[last][0]) && filepath.Dir(file) == filepath.Dir(files[i-1]):
			groups[last] = append(groups[last], file)
		default:
			groups = append(groups, []string{file})
		}
	}
	return groups
}

// apart reports whether a file is one of several processes'.
func apart(file string) bool {
	text, err := os.ReadFile(file)
	return err == nil && (strings.Contains(string(text), "\nmode: explore") ||
		strings.Contains(string(text), "\nmode: train"))
}

// beside runs files at once, in one folder, and says what becomes of each.
func (x *example) beside(ctx context.Context, files []string) []string {
	results := make([]string, len(files))
	var group sync.WaitGroup
	for i, file := range files {
		one := *x
		one.file = file
		group.Go(func() { results[i] = one.twoSteps(ctx) })
	}
	group.Wait()
	return results
}

// twoSteps says what becomes of a file.
func (x *example) twoSteps(ctx context.Context) string {
	_, in, refusal := x.inspect(ctx)
	if refusal != nil {
		return "refused: " + x.line(problems(refusal)[0])
	}
	if err := in.Close(); err != nil {
		return "failed: " + x.line(err)
	}
	if err := x.writeRows(); err != nil {
		return "failed: " + x.line(err)
	}
	cfg, err := config.Load(x.file, x.overrides(), x.env, run.Plugins{}.Names())
	if err != nil {
		return "failed: " + x.line(err)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	sum, err := job.Run(ctx, cfg, run.Options{LookupEnv: x.env})
	if err != nil {
		return "failed: " + x.line(err)
	}
	return "runs: " + outcome(sum)
}

// outcome is what the steps of a run say.
func outcome(sum *console.Summary) string {
	var rewards, losses []string
	for _, l := range sum.Lines {
		if v, ok := l.Metrics["rollout/reward/mean"]; ok {
			rewards = append(rewards, fmt.Sprintf("%.3g", v))
		}
		if v, ok := l.Metrics["actor/final_loss"]; ok {
			losses = append(losses, fmt.Sprintf("%.3g", v))
		}
	}
	text := fmt.Sprintf("%d explore and %d train steps", len(rewards), len(losses))
	if len(rewards) > 0 {
		text += ", rewards " + strings.Join(rewards, " ")
	}
	if len(losses) > 0 {
		text += ", losses " + strings.Join(losses, " ")
	}
	return text
}

// writeProblems writes problems that the shipped model solves now and then, in the columns that a configuration names.
// What is graded by its spelling is spelled as the model answers.
func (x *example) writeProblems(cfg *config.Config) error {
	file, err := os.Open("examples/tiny/data/train.jsonl")
	if err != nil {
		return err
	}
	defer file.Close()
	x.rows = filepath.Join(x.dir, filepath.Base(x.file)+".jsonl")
	var out strings.Builder
	lines := bufio.NewScanner(file)
	for range 12 {
		if !lines.Scan() {
			return fmt.Errorf("%s ends: %w", file.Name(), cmp.Or(lines.Err(), os.ErrInvalid))
		}
		var row struct{ Question, Answer string }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return err
		}
		_, answer, _ := strings.Cut(row.Answer, "#### ")
		if cfg.Buffer.ExplorerInput.Training()[0].DefaultRewardFnType == "math_dapo_reward" {
			answer = "<answer>" + answer + "</answer>"
		}
		columns := map[string]any{}
		columnsOf(cfg, columns, row.Question, answer)
		line, err := json.Marshal(columns)
		if err != nil {
			return err
		}
		out.Write(append(line, '\n'))
	}
	return os.WriteFile(x.rows, []byte(out.String()), 0o644)
}
