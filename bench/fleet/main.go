// Command fleet compares jobs of each kind over 0 to 5 workers, with random kills of workers and head, with the same
// jobs alone. Metrics and saved weights must have the same bits.
//
// Needs: nothing
// Takes: about an hour; -for ends it sooner
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

func main() {
	until := flag.Duration("for", 0, "begin no job after that time; 0 is never")
	only := flag.String("jobs", "", "only these jobs, separated by commas, such as gsm8k,sft")
	workers := flag.String("workers", "2,1,3,5,0", "the numbers of workers")
	seed := flag.Uint64("seed", 0, "of the moments of the kills")
	program.Main("fleet", func(p program.Program) error { return run(p, *only, *workers, *until, *seed) })
}

func run(trinity program.Program, only, numbers string, until time.Duration, seed uint64) error {
	jobs, begun := program.Jobs(), time.Now()
	names := slices.Sorted(maps.Keys(jobs))
	if only != "" {
		names = strings.Split(only, ",")
	}
	alone := map[string]program.Outcome{}
	var failed error
	fmt.Printf("the seed of the kills is %d\n", seed)
	fmt.Println("| job | workers | kills of workers | kills of the head | tasks of workers at the end | same bits |")
	fmt.Println("|---|---|---|---|---|---|")
	for k, text := range strings.Split(numbers, ",") {
		workers, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		for i, name := range names {
			if until > 0 && time.Since(begun) > until {
				fmt.Printf("| %s | %d | | | | not run |\n", name, workers)
				continue
			}
			job := program.Job{Program: trinity, Name: name, Args: jobs[name]}
			if _, ok := alone[name]; !ok {
				if alone[name], err = job.Alone(); err != nil {
					return err
				}
			}
			f := &faulty{Job: job, rand: rand.New(rand.NewPCG(seed+uint64(i), uint64(k)))}
			failed = errors.Join(failed, f.compare(alone[name], workers))
		}
	}
	return failed
}

// faulty is a job over workers that are killed and join at random, as the head is killed.
type faulty struct {
	program.Job
	rand         *rand.Rand
	crew         *program.Crew
	kills, heads int
}

// kernels are the paths that workers take turns with; those that this processor lacks are left out.
var kernels = []string{"", "portable", "avx2"}

func (f *faulty) join() error { return f.crew.Join("--kernel", kernels[f.crew.Made()%len(kernels)]) }

// compare runs the job over workers and prints its row.
func (f *faulty) compare(want program.Outcome, workers int) error {
	variant := fmt.Sprint("over", workers)
	addr, err := program.FreeAddress()
	if err != nil {
		return err
	}
	local := workers == 0 || f.rand.IntN(2) == 0
	more := []string{"fleet.listen=" + addr, "fleet.verify=0.1", fmt.Sprint("fleet.local=", local)}
	if f.Args[0] == "gem" {
		more = []string{"--fleet", addr}
	}
	f.crew = &program.Crew{Program: f.Program, Prefix: "w"}
	defer f.crew.Close()
	tasks, err := f.crew.Disturbed(func() *exec.Cmd { return f.Command(variant, more...) }, func() (err error) {
		for range workers {
			err = errors.Join(err, f.join())
		}
		return err
	}, func(head *program.Process) (bool, error) { return f.disturb(head, workers) })
	if err != nil {
		return fmt.Errorf("%s over %d workers: %w", f.Name, workers, err)
	}
	got, err := f.Outcome(variant)
	if err != nil {
		return err
	}
	different := want.Differs(got)
	fmt.Printf("| %s | %d | %d | %d | %d | %v |\n", f.Name, workers, f.kills, f.heads, tasks, different == "")
	if different != "" {
		return fmt.Errorf("%s over %d workers: other bits: %s", f.Name, workers, different)
	}
	return nil
}

// mostKills are the kills of workers in a job, so that those on a busy machine get to compute something.
const mostKills = 3

// disturb kills workers and the head at random times until the head ends. killed says that it killed the head.
func (f *faulty) disturb(head *program.Process, workers int) (killed bool, err error) {
	for {
		select {
		case <-head.Done():
			return false, nil
		case <-time.After(time.Duration(1000+f.rand.IntN(6000)) * time.Millisecond):
		}
		switch {
		case f.heads < 2 && f.Args[0] != "gem" && f.rand.IntN(4) == 0: // trinity gem begins a new run
			head.Kill()
			if head.Wait() == nil {
				return false, nil // it had ended before
			}
			f.heads++
			return true, nil
		case workers > 0 && f.kills < mostKills && f.rand.IntN(2) == 0:
			f.crew.Kill()
			f.kills++
			if err := f.join(); err != nil {
				return false, err
			}
		}
	}
}
