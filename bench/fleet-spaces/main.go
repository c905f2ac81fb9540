// Command fleet-spaces runs a head and two workers in network namespaces with addresses and links of their own, and
// cuts the link of one worker, of both and of the head in turn. The run continues or waits, and has the bits of the run
// alone.
//
// Needs: Linux and root
// Takes: a minute
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

func main() { program.Main("fleet-spaces", run) }

// steps of the run.
const steps = 8

func run(trinity program.Program) error {
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		fmt.Println("skipped: network namespaces need Linux and root")
		return nil
	}
	s, remove, err := newSpaces(3, trinity.Path, trinity.Home)
	if err != nil {
		return err
	}
	defer remove()
	job := program.Job{Program: trinity, Name: "gsm8k", Args: append(program.Tiny(),
		fmt.Sprint("buffer.total_steps=", steps), fmt.Sprint("trainer.total_steps=", steps))}
	want, err := job.Alone()
	if err != nil {
		return err
	}
	url := address(0) + ":4222"
	head, err := program.Start(s.on(0, job.Command("apart", "fleet.listen=0.0.0.0:4222", "fleet.local=false",
		"fleet.advertise="+url)))
	if err != nil {
		return err
	}
	defer head.Kill()
	creds, err := head.Await(regexp.MustCompile(program.Credentials))
	if err != nil {
		return err
	}
	crew := &program.Crew{Program: trinity, Prefix: "w", Creds: creds[1],
		Wrap: func(n int, cmd *exec.Cmd) { s.on(n, cmd) }}
	defer crew.Close()
	if err := errors.Join(crew.Join("--join", "nats://"+url), crew.Join("--join", "nats://"+url)); err != nil {
		return err
	}
	if err := s.follow(head); err != nil {
		return fmt.Errorf("%w\nthe workers said:\n%s", err, crew.Said())
	}
	s.mends.Wait() // workers that are cut off do not hear that they may leave
	n, err := crew.Leave()
	fmt.Printf("the workers computed %d tasks; they said:\n%s", n, crew.Said())
	got, err1 := job.Outcome("apart")
	if err := errors.Join(err, err1); err != nil {
		return err
	}
	if different := want.Differs(got); different != "" {
		return fmt.Errorf("other bits: %s", different)
	}
	fmt.Println("metrics and weights have the bits of the run alone")
	if n == 0 {
		return errors.New("the workers computed nothing")
	}
	return nil
}

// follow cuts links after some steps of the head, until it ends.
func (s *spaces) follow(head *program.Process) error {
	last := time.Now()
	for n := 1; n <= steps; n++ {
		if _, err := head.Await(regexp.MustCompile(fmt.Sprintf("step %d/", n))); err != nil {
			return err
		}
		fmt.Printf("step %d after %.1f s\n", n, time.Since(last).Seconds())
		last = time.Now()
		switch n {
		case 2:
			s.cut(5*time.Second, 1)
		case 4:
			s.cut(8*time.Second, 1, 2)
		case 6:
			s.cut(8*time.Second, 0)
		}
	}
	return head.Wait()
}
