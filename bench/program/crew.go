package program

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// Crew is the workers of a job or server.
type Crew struct {
	Program Program
	Creds   string               // the file of their credentials
	Prefix  string               // of their names, which a number ends
	Wrap    func(int, *exec.Cmd) // changes the command of worker n, from 1; nil for none

	workers, all []*Process // that run, and all that did
}

// WorkerName matches what a worker says when it has measured itself.
var WorkerName = regexp.MustCompile(`worker (\S+):`)

// Credentials matches what a head says when workers may join it; the group is the file of their credentials.
const Credentials = `workers (?:join with |may join" with=)(\S+)`

// Join starts a worker. args are further flags.
func (c *Crew) Join(args ...string) error {
	n := c.Made() + 1
	name := fmt.Sprint(c.Prefix, n)
	cmd := c.Program.Command(append([]string{"worker", "--creds", c.Creds, "--threads", "1", "--battery", "--no-hub",
		"--name", name, "--cache", filepath.Join(c.Program.Home, name)}, args...)...)
	if c.Wrap != nil {
		c.Wrap(n, cmd)
	}
	p, err := Start(cmd)
	if err != nil {
		return fmt.Errorf("worker %s: %w", name, err)
	}
	c.workers, c.all = append(c.workers, p), append(c.all, p)
	return nil
}

// Made is the number of workers that were started.
func (c *Crew) Made() int { return len(c.all) }

// Worker is the oldest worker that runs.
func (c *Crew) Worker() *Process { return c.workers[0] }

// Kill ends the oldest worker as kill -9 does.
func (c *Crew) Kill() {
	if len(c.workers) > 0 {
		c.workers[0].Kill()
		c.workers[0].Wait() // it was killed
		c.workers = c.workers[1:]
	}
}

// Close kills all workers.
func (c *Crew) Close() {
	for len(c.workers) > 0 {
		c.Kill()
	}
}

// Said returns the output of all workers.
func (c *Crew) Said() string { return said(c.all) }

// Disturbed runs the head of a job until it ends, and again whenever disturb killed it. join starts the workers, once
// their credentials are there. tasks are those that the workers computed which are left.
func (c *Crew) Disturbed(head func() *exec.Cmd, join func() error,
	disturb func(head *Process) (killed bool, err error)) (tasks int, err error) {
	for again := true; again; {
		if again, err = c.once(head(), join, disturb); err != nil {
			return 0, fmt.Errorf("%w\nthe workers said:\n%s", err, c.Said())
		}
	}
	return c.Leave()
}

func (c *Crew) once(cmd *exec.Cmd, join func() error, disturb func(*Process) (bool, error)) (again bool, err error) {
	head, err := Start(cmd)
	if err != nil {
		return false, err
	}
	defer head.Kill()
	if c.Creds == "" {
		creds, err := head.Await(regexp.MustCompile(Credentials))
		if err != nil {
			return false, err
		}
		c.Creds = creds[1]
		if err := join(); err != nil {
			return false, err
		}
	}
	if again, err = disturb(head); again || err != nil {
		return again, err
	}
	if err := head.Wait(); err != nil {
		return false, fmt.Errorf("%w\n%s", err, head.Said())
	}
	return false, nil
}

// computed matches what a worker says when it leaves.
var computed = regexp.MustCompile(`computed (\d+) tasks`)

// Leave asks all workers to leave and returns how many tasks they computed.
func (c *Crew) Leave() (tasks int, err error) {
	for _, w := range c.workers {
		w.Signal(syscall.SIGTERM)
	}
	for _, w := range c.workers {
		timer := time.AfterFunc(time.Minute, w.Kill)
		if ended := w.Wait(); ended != nil && WorkerName.MatchString(w.Said()) {
			err = errors.Join(err, fmt.Errorf("a worker after SIGTERM: %w; it said:\n%s", ended, w.Said()))
		} // SIGTERM ends one that has not said its name as it ends any program
		timer.Stop()
	}
	c.workers = nil
	for _, m := range computed.FindAllStringSubmatch(c.Said(), -1) {
		n, _ := strconv.Atoi(m[1]) // digits
		tasks += n
	}
	return tasks, err
}
