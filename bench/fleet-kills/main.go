// Command fleet-kills plays random schedules of kill -9 of workers, of a nats-server and of the head of a run. Each
// run must have the metrics and weights of the run alone, to the bit. Schedule n has the seed n.
//
// Needs: nothing
// Takes: about two hours for 100 schedules
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

func main() {
	schedules := flag.Int("schedules", 100, "how many schedules are played")
	first := flag.Int("first", 0, "the first one")
	if len(os.Args) == 4 && os.Args[1] == serverRole {
		if err := serveNATS(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, "fleet-kills:", err)
			os.Exit(1)
		}
		return
	}
	program.Main("fleet-kills", func(p program.Program) error { return run(p, *first, *schedules) })
}

func run(trinity program.Program, first, schedules int) error {
	job := program.Job{Program: trinity, Name: "gsm8k", Args: program.Tiny()}
	want, err := job.Alone()
	if err != nil {
		return err
	}
	fmt.Print("| schedule | kills of workers | kills of nats-server | of these, store deleted | kills of the head " +
		"| tasks of workers at the end | same bits |\n|---|---|---|---|---|---|---|\n")
	var failed error
	for seed := first; seed < first+schedules; seed++ {
		s := &schedule{Job: job, seed: seed, rand: rand.New(rand.NewPCG(uint64(seed), 20)),
			variant: fmt.Sprint("s", seed)}
		got, err := s.play()
		if err != nil {
			return fmt.Errorf("schedule %d: %w", seed, err)
		}
		different := want.Differs(got)
		fmt.Printf("| %d | %d | %d | %d | %d | %d | %v |\n", seed, s.workers, s.servers, s.wiped, s.heads, s.tasks,
			different == "")
		if different != "" {
			failed = errors.Join(failed, fmt.Errorf("schedule %d: other bits: %s", seed, different))
		}
		if err := os.RemoveAll(job.Root(s.variant)); err != nil {
			return err
		}
	}
	return failed
}

// schedule is one run and its faults.
type schedule struct {
	program.Job
	seed    int
	rand    *rand.Rand
	variant string
	nats    *nats
	crew    *program.Crew

	workers, servers, wiped, heads int // kills
	tasks                          int
}

// mostFaults are the kills in a schedule, so that it ends.
const mostFaults = 8

func (s *schedule) play() (got program.Outcome, err error) {
	if s.nats, err = newNATS(filepath.Join(s.Home, "nats-"+s.variant)); err != nil {
		return got, err
	}
	defer s.nats.close()
	s.crew = &program.Crew{Program: s.Program, Prefix: "w"}
	defer s.crew.Close()
	local := s.rand.IntN(2) == 0
	s.tasks, err = s.crew.Disturbed(func() *exec.Cmd {
		return s.Command(s.variant, "fleet.url=nats://"+s.nats.address, "fleet.verify=0.1",
			fmt.Sprint("fleet.local=", local))
	}, func() error { return errors.Join(s.crew.Join(), s.crew.Join()) }, s.disturb)
	if err != nil {
		return got, err
	}
	return s.Outcome(s.variant)
}

// disturb kills something at random times until the head ends. killed says that it killed the head.
func (s *schedule) disturb(head *program.Process) (killed bool, err error) {
	for {
		select {
		case <-head.Done():
			return false, nil
		case <-time.After(time.Duration(200+s.rand.IntN(2500)) * time.Millisecond):
		}
		if s.workers+s.servers+s.heads >= mostFaults {
			continue
		}
		switch s.rand.IntN(5) {
		case 0:
			head.Kill()
			if head.Wait() == nil {
				return false, nil // it had ended before
			}
			s.heads++
			return true, nil
		case 1, 2:
			wipe := s.rand.IntN(2) == 0
			s.servers++
			if wipe {
				s.wiped++
			}
			err = s.nats.restart(wipe)
		default:
			s.crew.Kill()
			s.workers++
			err = s.crew.Join()
		}
		if err != nil {
			return false, err
		}
	}
}
