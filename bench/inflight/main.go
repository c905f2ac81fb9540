// Command inflight compares asynchronous training with in-flight samplers to synchronous training on the tiny example.
// Needs: nothing but Go.
// Takes: about three minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/monitor/plot"
)

// arm is a way to train. At most perStep·(ahead+1) groups are started and not trained on yet, so that ahead 0 is
// synchronous.
type arm struct {
	name     string
	ahead    int
	inflight bool // answers under way move to each step's weights
	shuffled bool // the advantages within each group: a control
	seeds    int
}

func main() {
	steps := flag.Int("steps", 40, "steps of each run; the bounds are for 40")
	svg := flag.String("svg", "bin/inflight.svg", "where the curves go")
	flag.Parse()
	arms := []arm{{"synchronous", 0, false, false, 3}, {"asynchronous, snapshots", 3, false, false, 3},
		{"asynchronous, in-flight", 3, true, false, 3}, {"in-flight, advantages shuffled", 3, true, true, 3}}
	job.Main("inflight", func(ctx context.Context) error {
		ex, err := readExample()
		if err != nil {
			return err
		}
		fmt.Printf("examples/tiny, stable_reinforce, %d steps of %d groups of %d samples, %d at once\n\n", *steps,
			perStep, perGroup, room)
		fmt.Print("| | seed | accuracy, first ten steps | last ten | held out before | after | steps between drawing " +
			"and training on a token, mean | most | " +
			"answers of several versions |\n|---|---|---|---|---|---|---|---|---|\n")
		curves := plot.Curves{Title: "in-flight samplers on examples/tiny", Key: "training accuracy", Zero: true,
			Window: 10}
		var problems []error
		for _, a := range arms {
			for seed := range a.seeds {
				r, err := train(ctx, ex, a, uint64(seed+1), *steps)
				if err != nil {
					return err
				}
				r.print(a, seed+1)
				problems = append(problems, r.check(a, seed+1))
				curves.Runs = append(curves.Runs, plot.Run{
					Name: fmt.Sprintf("%s, seed %d", a.name, seed+1), Points: r.curve})
			}
		}
		return errors.Join(append(problems, draw(curves, *svg))...)
	})
}

func draw(c plot.Curves, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return errors.Join(c.Draw(f, plot.SVG), f.Sync())
}

// room is the samples that are computed together: so few that sampling a step's groups takes longer than training on
// them, as it does with long answers.
const room = 8

// train trains one run on an engine of its own.
func train(ctx context.Context, ex *example, a arm, seed uint64, steps int) (*result, error) {
	dir, err := os.MkdirTemp("", "inflight")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	e, err := engine.Open(engine.Options{Dir: dir, Models: map[string]engine.Model{base: {Dir: modelDir}}, Seed: &seed,
		MaxSequences: room})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	l, err := newLearner(ctx, e, ex, a, seed)
	if err != nil {
		return nil, err
	}
	return l.result, l.learn(ctx, steps)
}

// result is what one run came to.
type result struct {
	curve         []plot.Point // training accuracy
	before, after float64      // accuracy on the held-out problems
	tokens, age   int          // trained tokens, and the steps since they were drawn, summed
	oldest        int
	answers       int
	moved         int // answers that more than one version drew
}

func (r *result) mean(from, to int) (m float64) {
	for _, p := range r.curve[from:to] {
		m += p.Value / float64(to-from)
	}
	return m
}

func (r *result) print(a arm, seed int) {
	n := len(r.curve)
	fmt.Printf("| %s | %d | %.3f | %.3f | %.3f | %.3f | %.2f | %d | %.0f %% |\n", a.name, seed, r.mean(0, 10),
		r.mean(n-10, n), r.before, r.after, float64(r.age)/float64(r.tokens), r.oldest,
		100*float64(r.moved)/float64(r.answers))
}

// check says what is not as it should be: the control learns nothing, the others do; and answers change their weights
// in flight alone.
func (r *result) check(a arm, seed int) error {
	gain := r.after - r.before
	if a.shuffled && gain > 0.05 || !a.shuffled && gain < 0.3 || (r.moved > 0) != a.inflight {
		return fmt.Errorf("%s, seed %d: held out %.3f → %.3f, %d answers changed their weights", a.name, seed, r.before,
			r.after, r.moved)
	}
	return nil
}
