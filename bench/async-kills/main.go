// Command async-kills kills runs of sync_style fully_async at random times with kill -9: the run, each of its two
// processes, its server, its worker. Each killed process is started again with the same command, and every run must
// have the metrics and weights of one that was not killed, to the bit.
//
// Needs: nothing
// Takes: two minutes for 40 kills
package main

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

func main() {
	kills := flag.Int("kills", 10, "kills in each place")
	program.Main("async-kills", func(p program.Program) error { return run(p, *kills) })
}

// mostKills are those of one run, so that it ends.
const mostKills = 5

func run(trinity program.Program, kills int) error {
	job := program.Job{Program: trinity, Name: "async", Args: append(program.Tiny(),
		"synchronizer.sync_style=fully_async", "explorer.max_inflight_batches=2", "buffer.total_steps=10",
		"trainer.total_steps=10", "buffer.train_batch_size=8", "synchronizer.sync_timeout=600")}
	want, err := job.Alone()
	if err != nil {
		return err
	}
	fmt.Print("sync_style fully_async, two explore steps in flight, 10 train steps\n\n" +
		"| where it runs | killed | kills | runs with the bits of one that was not killed |\n|---|---|---|---|\n")
	for i, p := range places() {
		done, runs := 0, 0
		for done < kills {
			runs++
			variant := fmt.Sprintf("place%d-run%d", i+1, runs)
			n, err := p.play(job, variant, min(kills-done, mostKills), rand.New(rand.NewPCG(uint64(runs), 40)))
			if err == nil {
				err = p.compare(job, variant, want)
			}
			if err != nil {
				return fmt.Errorf("%s, run %d, killed %d times: %w", p.name, runs, n, err)
			}
			done += n
			if err := os.RemoveAll(job.Root(variant)); err != nil {
				return err
			}
		}
		fmt.Printf("| %s | %s | %d | %d of %d |\n", p.name, p.killed, done, runs, runs) // one that differs is an error
	}
	return nil
}

// play starts the processes of a place, and kills random ones at random times and starts them again, until the job is
// done.
func (p place) play(job program.Job, variant string, most int, draw *rand.Rand) (kills int, err error) {
	lives, closing := p.lives(job, variant)
	defer closing()
	for _, l := range lives {
		if l.now, err = l.start(); err != nil {
			return 0, err
		}
		defer func() { l.now.Kill() }()
	}
	for {
		<-time.After(time.Duration(50+draw.IntN(900)) * time.Millisecond)
		var victims []*life
		open := false
		for _, l := range lives {
			running, err := l.running()
			if err != nil {
				return kills, err
			}
			open = open || running && l.ends
			if running && !l.spared {
				victims = append(victims, l)
			}
		}
		if !open {
			return kills, nil
		}
		if kills < most && len(victims) > 0 {
			killed, err := victims[draw.IntN(len(victims))].again()
			if err != nil {
				return kills, err
			}
			kills += killed
		}
	}
}

// life is a process that is started again whenever it was killed.
type life struct {
	start  func() (*program.Process, error)
	now    *program.Process
	ends   bool // by itself, when the job is done
	spared bool // it is not killed
}

// running reports whether the process runs. It is an error if it failed.
func (l *life) running() (bool, error) {
	select {
	case <-l.now.Done():
	default:
		return true, nil
	}
	if err := l.now.Wait(); err != nil || !l.ends {
		return false, fmt.Errorf("a process ended (%v); it said:\n%s", err, l.now.Said())
	}
	return false, nil
}

// again kills the process and starts it again. killed is 0 if it had ended by itself.
func (l *life) again() (killed int, err error) {
	l.now.Kill()
	if l.now.Wait() == nil {
		return 0, nil
	}
	now, err := l.start()
	if err == nil {
		l.now = now
	}
	return 1, err
}

// compare reports how a run differs from one in one process that was not killed.
func (p place) compare(job program.Job, variant string, want program.Outcome) error {
	got := program.Outcome{Weights: want.Weights}
	var err error
	if p.remote { // the weights are the server's
		got.Metrics, err = program.Metrics(filepath.Join(job.Root(variant), "trinity-tiny", "gsm8k", "metrics.jsonl"))
	} else {
		got, err = job.Outcome(variant)
	}
	if err != nil {
		return err
	}
	if p.apart { // an explorer lets older samplers go some steps later, which the trainer's last step may not wait for
		got.Weights = slices.DeleteFunc(got.Weights,
			func(hash string) bool { return !slices.Contains(want.Weights, hash) })
	}
	want.Metrics, got.Metrics = p.trained(want.Metrics), p.trained(got.Metrics)
	if different := want.Differs(got); different != "" {
		return fmt.Errorf("other bits: %s", different)
	}
	return nil
}

// trained are the lines, with the trainer's metrics alone if the explorer is another process: of its own it does not
// keep those of steps that were not trained when it was killed.
func (p place) trained(lines []monitor.Line) (list []monitor.Line) {
	for _, l := range lines {
		if p.apart {
			kept := map[string]float64{}
			for name, v := range l.Metrics {
				if slices.ContainsFunc([]string{"actor/", "critic/", "sample/", "response_length/"},
					func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
					kept[name] = v
				}
			}
			l.Metrics = kept
		}
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b monitor.Line) int { return cmp.Compare(a.Step, b.Step) })
	return list
}
