package run

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
)

var (
	tableFull = flag.Bool("algorithms.full", false, "TestAlgorithmTable: train the example with every algorithm and "+
		"write docs/results/algorithms.log and the table in docs/algorithms.md")
	tableOnly = flag.String("algorithms.only", "",
		"with algorithms.full: these algorithms, with commas between; the others' lines stay as they are")
)

// tableRun is what the table trains with: 20 steps of 8 problems, held-out accuracy before and after.
var tableRun = []string{"seed=1", "buffer.batch_size=8", "buffer.total_steps=20", "trainer.total_steps=20",
	"explorer.eval_interval=20", "trainer.save_interval=0"}

// own is what an algorithm has beside or instead of tableRun, as one would write it after the command.
func own(name string) []string {
	switch name {
	case "sft", "dpo":
		return []string{"seed=1"}
	case "mix", "mix_chord":
		return append(tableRun, "buffer.train_batch_size=80")
	case "raft": // trains on what was right
		return append(tableRun, "buffer.train_batch_size=16", "trainer.total_steps=40",
			"data_processor.experience_pipeline.operators=[{name: reward_filter, args: {threshold: 1.0}}]")
	case "ppo":
		return []string{"seed=1", "algorithm.advantage_fn_args={critic_warmup: 16}"}
	}
	return tableRun
}

// TestAlgorithmTable trains the example with each algorithm, asks that it learned, and writes down what it came to.
func TestAlgorithmTable(t *testing.T) {
	t.Parallel()
	if !*tableFull {
		t.Skip("trains for many minutes: make algorithms")
	}
	names := slices.Sorted(maps.Keys(config.Algorithms()))
	if *tableOnly != "" {
		names = strings.Split(*tableOnly, ",")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			o := options()
			o.Out = &out
			begin, dir := time.Now(), t.TempDir()
			sum, err := Run(context.Background(), ofAlgorithm(t, dir, name, own(name)...), o)
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			line, learned := outcome(name, sum)
			if name == "sft" || name == "dpo" { // whose runs sample nothing
				var better bool
				if line, better = examined(t, dir, name, line); !better {
					learned = false
				}
			}
			if !learned {
				t.Errorf("%s did not learn: %s", name, line)
			}
			if err := writeOutcome(name, fmt.Sprintf("%s in %.0f s", line, time.Since(begin).Seconds())); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// examined adds to an outcome how a trained job does on the problems that the other algorithms are held to: mode bench
// samples from the model as it was and from the last state.
func examined(t *testing.T, dir, name, line string) (string, bool) {
	t.Helper()
	sum, err := Run(context.Background(), load(t, dir, "seed=1", "mode=bench", "name="+name), options())
	if err != nil {
		t.Fatal(err)
	}
	a, b, _ := sum.Ends(strings.Replace(heldOut, "eval/", "bench/", 1))
	return fmt.Sprintf("held-out accuracy %.3f → %.3f, %s", a, b, line), b > a+0.1
}

// outcome says in a line what a run came to.
func outcome(name string, sum *console.Summary) (line string, learned bool) {
	last := len(sum.Lines) - 1
	n := sum.Lines[last].Step
	between := func(key string) (first, end float64) { return sum.Mean(key, 1, 4), sum.Mean(key, n-3, n) }
	switch name {
	case "sft":
		a, b := between("actor/sft_loss")
		return fmt.Sprintf("loss on rows not seen before %.3f → %.3f, %d steps", a, b, n), b < 0.7*a
	case "dpo":
		a, b := between("actor/dpo_loss")
		c, d := between("actor/accuracy_mean")
		return fmt.Sprintf("loss on pairs not seen before %.3f → %.3f, pairs told apart %.2f → %.2f, %d steps", a, b, c,
			d, n), b < 0.8*a && d > 0.9
	}
	a, b, _ := sum.Ends(heldOut)
	line = fmt.Sprintf("held-out accuracy %.3f → %.3f, %d steps", a, b, n)
	if v, ok := sum.Lines[last].Metrics["critic/vf_explained_var"]; ok {
		best := v
		for _, l := range sum.Lines[1:] {
			best = max(best, l.Metrics["critic/vf_explained_var"])
		}
		line += fmt.Sprintf(", explained variance %.2f → up to %.2f", sum.Lines[1].Metrics["critic/vf_explained_var"],
			best)
	}
	return line, b > a+0.1
}

const (
	tableLog   = "../docs/results/algorithms.log"
	tableDoc   = "../docs/algorithms.md"
	tableBegin = "<!-- table: make algorithms -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

// writeOutcome replaces an algorithm's line in the log, and the table made of the log.
func writeOutcome(name, line string) error {
	lines := map[string]string{}
	data, err := os.ReadFile(tableLog)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, l := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if k, v, ok := strings.Cut(l, ": "); ok {
			lines[k] = v
		}
	}
	lines[name] = line
	var log, table strings.Builder
	table.WriteString("| algorithm_type | local engine | Tinker wire | on the tiny example |\n|---|---|---|---|\n")
	for _, k := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&log, "%s: %s\n", k, lines[k])
		result, _, _ := strings.Cut(lines[k], " in ")
		fmt.Fprintf(&table, "| %s | yes | same bits | %s |\n", k, result)
	}
	if err := os.WriteFile(tableLog, []byte(log.String()), 0o666); err != nil {
		return err
	}
	doc, err := os.ReadFile(tableDoc)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(doc), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the table", tableDoc)
	}
	return os.WriteFile(tableDoc, []byte(before+tableBegin+table.String()+tableEnd+after), 0o666)
}
