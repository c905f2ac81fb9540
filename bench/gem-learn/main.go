// Command gem-learn trains the shipped players on five games with three seeds, with controls and with other methods.
// Needs: nothing but Go.
// Takes: about six hours; killed, it continues with the runs that it has (.cache/learn-gem).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/monitor/plot"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	dir := flag.String("dir", ".cache/learn-gem", "the `folder` of the runs; those that it has continue")
	only := flag.String("only", "", "this lesson alone, by its name, with one seed and without pictures")
	changes := flag.String("changes", "", "changes of every run, such as \"max_steps=1\"")
	flag.Parse()
	job.Main("gem-learn", func(ctx context.Context) error {
		t := teaching{dir: *dir, changes: strings.Fields(*changes)}
		if *only == "" {
			return t.all(ctx)
		}
		for _, l := range lessons() {
			if l.name == *only {
				_, err := t.learn(ctx, l, 1)
				return err
			}
		}
		return fmt.Errorf("there is no lesson %q; docs/results/gem.md has them", *only)
	})
}

// teaching is where the lessons run, and what is changed of all of them.
type teaching struct {
	dir     string
	changes []string
}

// all runs every lesson with its seeds, and draws the pictures.
func (t teaching) all(ctx context.Context) error {
	pictures, problems := map[string][]plot.Run{}, []error{}
	for _, l := range lessons() {
		for seed := 1; seed <= l.seeds; seed++ {
			folder, err := t.learn(ctx, l, seed)
			if err != nil {
				problems = append(problems, err)
			}
			if folder == "" {
				return errors.Join(problems...)
			}
			key, err := l.key()
			if err != nil {
				return err
			}
			r, err := plot.Load(folder, key)
			if err != nil {
				return err
			}
			r.Name = fmt.Sprintf("%s, seed %d", l.name, seed)
			for _, picture := range l.pictures {
				pictures[picture] = append(pictures[picture], r)
			}
		}
	}
	for name, runs := range pictures {
		problems = append(problems, draw(filepath.Join("docs", "results", name+".svg"),
			plot.Curves{Title: "Return on 500 held-out seeds", Key: "return", Runs: runs}))
	}
	return errors.Join(problems...)
}

// learn runs a lesson with a seed and returns the folder with its metrics, "" if the run failed. The error is also that
// the lesson was not learned.
func (t teaching) learn(ctx context.Context, l lesson, seed int) (folder string, err error) {
	key, err := l.key()
	if err != nil {
		return "", err
	}
	pairs, err := l.pairs()
	if err != nil {
		return "", err
	}
	name := strings.NewReplacer(", ", "-", " ", "-", "=", "-", "'", "").Replace(fmt.Sprintf("%s-%d", l.name, seed))
	pairs = append(append(pairs, t.changes...), "output_dir="+t.dir, "wandb_name="+name, "resume=latest",
		fmt.Sprintf("seed=%d", seed))
	fmt.Printf("%s, seed %d: trinity gem --config %s %s seed=%d\n", l.name, seed, l.config, l.changes, seed)
	folder, lines, err := job.Gem(ctx, run.Options{}, pairs...)
	if err != nil {
		return "", err
	}
	var scores []score
	took := 0.0
	for _, line := range lines {
		took += line.Metrics["time/eval"] + line.Metrics["time/sample"] + line.Metrics["time/train"]
		if mean, ok := line.Metrics[key]; ok {
			s, prefix := score{mean, line.Metrics[key+"_se"]}, strings.TrimSuffix(key, "return")
			scores = append(scores, s)
			fmt.Printf("    after %2d updates: return %v, %.2f turns, success %.3f\n", line.Step, s,
				line.Metrics[prefix+"num_turns"], line.Metrics[prefix+"success"])
		}
	}
	before, after := scores[0], scores[len(scores)-1]
	fmt.Printf("    a change of %+.1f standard errors in %.0f s\n", after.minus(before), took)
	if l.check != nil {
		if err := l.check(before, after); err != nil {
			return folder, fmt.Errorf("%s, seed %d: %w", l.name, seed, err)
		}
	}
	return folder, nil
}

// pairs are the configuration's with the changes.
func (l lesson) pairs() ([]string, error) { return job.Pairs(l.config, strings.Fields(l.changes)...) }

// key is the metric with the return on held-out seeds.
func (l lesson) key() (string, error) {
	pairs, err := l.pairs()
	c := gem.Default()
	if err == nil {
		err = c.SetAll(pairs)
	}
	return "eval/" + c.EnvID + "/return", err
}

func draw(path string, c plot.Curves) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(c.Draw(f, plot.SVG), f.Close())
}
