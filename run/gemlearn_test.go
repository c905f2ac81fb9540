package run

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/plot"
)

var (
	gemFull = flag.Bool("gem.full", false, "TestGemLearns: all of lessons with three seeds, and the pictures in docs")
	gemDir  = flag.String("gem.dir", "", "TestGemLearns: the folder of the runs; those that it has already are gone "+
		"on with")
)

// lesson is an experiment: a committed configuration and what is changed of it, with one or more seeds.
type lesson struct {
	name     string
	config   string // below examples/tiny
	seeds    int
	changes  string
	pictures []string // in docs
	check    func(before, after score) error
}

// score is the mean return on 500 held-out seeds, and its standard error.
type score struct{ mean, err float64 }

func (s score) String() string { return fmt.Sprintf("%.3f ± %.3f", s.mean, s.err) }

// minus is the difference in standard errors.
func (s score) minus(o score) float64 { return (s.mean - o.mean) / math.Hypot(s.err, o.err) }

// reaches wants a model that begins between two returns to come to a third.
func reaches(least, most, want float64) func(before, after score) error {
	return func(before, after score) error {
		if before.mean < least || before.mean > most || after.mean < want {
			return fmt.Errorf("return %v → %v; wanted from %.2f … %.2f to at least %.2f", before, after, least, most,
				want)
		}
		return nil
	}
}

// rises wants a gain of more than three standard errors.
func rises(before, after score) error {
	if after.minus(before) <= 3 {
		return fmt.Errorf("return %v → %v: a gain of %.1f standard errors, want more than 3", before, after,
			after.minus(before))
	}
	return nil
}

// stays wants no such gain.
func stays(before, after score) error {
	if after.minus(before) > 3 {
		return fmt.Errorf("return %v → %v: a gain of %.1f standard errors, want none", before, after,
			after.minus(before))
	}
	return nil
}

// lessons are what docs/gem.md tells.
func lessons() []lesson {
	const shuffled = "method=shuffled eval_every=20"
	easy := lesson{name: "easy", config: "guess/easy.yaml", seeds: 3, pictures: []string{"gem-easy", "gem-methods"},
		check: reaches(.70, .87, .92)}
	hard := lesson{name: "hard", config: "guess/hard.yaml", seeds: 3, pictures: []string{"gem-hard"},
		check: reaches(0, .82, .92)}
	all := []lesson{easy, hard}
	for _, game := range []string{"fifteen", "hanoi", "hangman"} {
		all = append(all, lesson{name: game, config: "games/" + game + ".yaml", seeds: 3,
			pictures: []string{"gem-" + game}, check: rises})
	}
	for _, l := range all[:len(all):len(all)] {
		l.name, l.changes, l.seeds, l.check, l.pictures = l.name+", returns shuffled", shuffled, 1, stays,
			l.pictures[:1]
		all = append(all, l)
	}
	for _, changes := range []string{"use_rebn=False", "method=grpo", "method=grpo fork_turn=1"} {
		all = append(all, lesson{name: "easy, " + changes, config: easy.config, seeds: 3, changes: changes +
			" eval_every=20", pictures: []string{"gem-methods"}})
	}
	return append(all, lesson{name: "easy, the seed's learning rate and steps", config: easy.config, seeds: 1,
		changes: "learning_rate=4e-5 max_steps=20", check: stays})
}

// The committed configurations teach the shipped models their games, and shuffled returns teach nothing.
func TestGemLearns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains for half a minute")
	}
	if !*gemFull {
		l := lesson{name: "easy", config: "guess/easy.yaml", changes: "max_steps=15 eval_every=15 eval_episodes=300",
			check: reaches(.70, .87, .92)}
		l.learn(t, t.TempDir(), 1)
		return
	}
	dir := cmp.Or(*gemDir, t.TempDir())
	pictures, want := map[string][]plot.Run{}, map[string]int{}
	for _, l := range lessons() {
		for _, picture := range l.pictures {
			want[picture] += l.seeds
		}
		t.Run(l.name, func(t *testing.T) {
			for seed := 1; seed <= l.seeds; seed++ {
				r, err := plot.Load(l.learn(t, dir, seed), l.key(t))
				if err != nil {
					t.Fatal(err)
				}
				r.Name = fmt.Sprintf("%s, seed %d", l.name, seed)
				for _, picture := range l.pictures {
					pictures[picture] = append(pictures[picture], r)
				}
			}
		})
	}
	for name, runs := range pictures {
		if len(runs) == want[name] { // not when -run picked some
			draw(t, filepath.Join("..", "docs", name+".svg"), plot.Curves{Title: "Return on 500 held-out seeds",
				Key: "return", Runs: runs})
		}
	}
}

// learn runs the lesson with a seed and returns the folder with its metrics.
func (l lesson) learn(t *testing.T, dir string, seed int) string {
	t.Helper()
	name := strings.NewReplacer(", ", "-", " ", "-", "=", "-", "'", "").Replace(fmt.Sprintf("%s-%d", l.name, seed))
	pairs := append(l.pairs(t), "output_dir="+dir, "wandb_name="+name, "resume=latest", fmt.Sprintf("seed=%d", seed))
	t.Logf("%s, seed %d: trinity gem --config examples/tiny/%s %s seed=%d", l.name, seed, l.config, l.changes, seed)
	logs, lines := gemRuns(t, options(), pairs)
	all, err := monitor.ReadLog(filepath.Join(logs, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	took := 0.0
	for _, line := range all {
		took += line.Metrics["time/eval"] + line.Metrics["time/sample"] + line.Metrics["time/train"]
	}
	key := l.key(t)
	var scores []score
	for _, line := range lines {
		if mean, ok := line.Metrics[key]; ok {
			scores = append(scores, score{mean, line.Metrics[key+"_se"]})
			t.Logf("    after %2d updates: return %v, %.2f turns, success %.3f", line.Step, scores[len(scores)-1],
				line.Metrics[strings.TrimSuffix(key, "return")+"num_turns"],
				line.Metrics[strings.TrimSuffix(key, "return")+"success"])
		}
	}
	before, after := scores[0], scores[len(scores)-1]
	t.Logf("    a change of %+.1f standard errors in %.0f s", after.minus(before), took)
	if l.check != nil {
		if err := l.check(before, after); err != nil {
			t.Errorf("%s, seed %d: %v", l.name, seed, err)
		}
	}
	return logs
}

// pairs are the configuration's with the changes.
func (l lesson) pairs(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "examples", "tiny", l.config))
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := gem.Pairs(data)
	if err != nil {
		t.Fatal(err)
	}
	return append(pairs, strings.Fields(l.changes)...)
}

// key is the metric with the return on held-out seeds.
func (l lesson) key(t *testing.T) string {
	t.Helper()
	c := gem.Default()
	if err := c.SetAll(l.pairs(t)); err != nil {
		t.Fatal(err)
	}
	return "eval/" + c.EnvID + "/return"
}

func draw(t *testing.T, path string, c plot.Curves) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := c.Draw(f, plot.SVG); err != nil {
		t.Fatal(err)
	}
}
