// Package record writes down what the two loops do: Explored records each explore step, Trained each train step.
// They hand on, keep and let go of what has to survive a kill; the loops themselves know nothing of files, metrics or
// terminals.
package record

import (
	"context"
	"maps"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Explored writes the samples of explore steps down and hands them to the trainer. It implements explorer.Sink.
type Explored struct {
	Rollouts buffer.Rollouts
	Monitor  *monitor.Monitor
	Progress *console.Progress
	To       buffer.Exchange
	Lines    Lines
	Pending  *Pending       // nil: what has no line yet is explored again after a restart
	Feed     *Feed          // nil: nobody counts
	Aside    bool           // the trainer is in another process: there is a line of metrics for each explore step
	Kept     *explorer.Kept // what the explorer keeps; nil if a program samples for itself

	left   map[int][]*experience.Experience // by step, until the step is written
	line   int                              // of the last step
	counts map[string]float64               // of its line so far

	resumed int // the metrics of the steps up to this one are from before a restart
}

// LeftOut takes the samples of a step that are not trained on, for the record.
func (r *Explored) LeftOut(step int, list []*experience.Experience) {
	r.left = map[int][]*experience.Experience{step: list}
}

// Explored implements explorer.Sink.
func (r *Explored) Explored(
	ctx context.Context, step int, metrics map[string]float64, list []*experience.Experience,
) error {
	if err := r.Rollouts.Write(step, list, r.left[step]...); err != nil {
		return err
	}
	if at := r.Lines.Line(step, list); at > 0 && step > r.resumed {
		if err := r.Pending.keep(step, metrics); err != nil {
			return err
		}
		r.add(step, at, metrics)
	}
	if r.Aside {
		line, err := r.Monitor.Commit(step)
		if err != nil {
			return err
		}
		r.Progress.Step(step, line)
	}
	r.Progress.Explored(step, len(list))
	if err := r.Feed.put(step, list); err != nil {
		return err
	}
	if err := r.To.Put(ctx, step, list); err != nil {
		return err
	}
	if _, kept := r.To.Explored(); !kept || r.Kept == nil {
		return nil // what the trainer has not read yet is only in the store
	}
	return r.Kept.Done(step, step)
}

// Resume adds the metrics of the explore steps up to explored, which are not explored again, to the lines after that of
// train step written.
func (r *Explored) Resume(explored, written int) error {
	return r.Pending.each(explored, written, func(step, line int, metrics map[string]float64) {
		r.add(step, line, metrics)
		r.resumed = step
	})
}

// add adds the metrics of an explore step to a line.
func (r *Explored) add(step, line int, metrics map[string]float64) {
	r.count(line, metrics)
	r.Monitor.Add(line, "explorer", metrics)
	r.Monitor.Samples(line, "explorer", r.Rollouts.Path(step))
}

// count adds what the steps before in the same line counted, such as tasks that failed. Of other metrics the last
// step's are there.
func (r *Explored) count(line int, metrics map[string]float64) {
	if line != r.line {
		r.line, r.counts = line, map[string]float64{}
	}
	for name, n := range metrics {
		if strings.HasPrefix(name, "rollout/") && strings.HasSuffix(name, "_count") {
			r.counts[name] += n
		}
	}
	maps.Copy(metrics, r.counts)
}
