package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options say what to start.
type Options struct {
	Command []string // the program and its arguments
	Dir     string   // where it runs; "" is the current folder
	Env     []string // NAME=value, beside the variables of this program, which they replace
	Stdin   string   // a file; "" is an empty input
	Memory  int64    // bytes of each of its processes; 0 is no limit. Only where there is a shell.
	Output  func(line string)

	// In and Out are ends of pipes that the caller keeps the other ends of: the program's input in place of Stdin, and
	// its output, of which Output then gets what the program writes to stderr. The caller closes them after Start.
	In, Out *os.File
}

// Process is a program that was started. It is safe for concurrent use.
type Process struct {
	guard *Guard
	cmd   *exec.Cmd
	name  string   // what its processes carry in their environment
	out   *os.File // what it prints, or stderr alone
	print func(string)
	tail  tail

	ended chan struct{}
	done  chan struct{}
	err   error // after ended

	mu     sync.Mutex
	exited bool
	reason error // why it is killed
}

// Start starts a program.
func (g *Guard) Start(o Options) (*Process, error) {
	command, err := limited(o)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	if err := g.begin(); err != nil {
		return nil, err
	}
	g.count++
	p := &Process{guard: g, name: mark + "=" + g.name + "." + strconv.Itoa(g.count) + ".", print: o.Output,
		ended: make(chan struct{}), done: make(chan struct{})}
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Dir = o.Dir
	p.cmd.Env = slices.Concat(p.cmd.Environ(), o.Env, []string{p.name})
	ownGroup(p.cmd)
	if err := p.start(o); err != nil {
		return nil, fmt.Errorf("process: start %s: %w", o.Command[0], err)
	}
	g.tell("+", p.cmd.Process.Pid)
	g.all[p] = true
	drained := make(chan struct{})
	g.wait.Go(func() { defer close(drained); drain(p.out, &p.tail, p.print) })
	g.wait.Go(func() { p.wait(drained) })
	return p, nil
}

// start starts the command with pipes of our own: Wait then does not wait for children that keep them open.
func (p *Process) start(o Options) error {
	switch {
	case o.In != nil:
		p.cmd.Stdin = o.In
	case o.Stdin != "":
		in, err := os.Open(o.Stdin)
		if err != nil {
			return err
		}
		defer in.Close()
		p.cmd.Stdin = in
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	p.out, p.cmd.Stdout, p.cmd.Stderr = r, w, w
	if o.Out != nil {
		p.cmd.Stdout = o.Out
	}
	if err := p.cmd.Start(); err != nil {
		r.Close()
		return err
	}
	return nil
}

// Find returns the path of a program, by path from the folder dir or by name in PATH.
func Find(program, dir string) (string, error) {
	if strings.ContainsRune(program, filepath.Separator) && !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
		if abs, err := filepath.Abs(program); err == nil {
			program = abs
		}
	}
	return exec.LookPath(program)
}

// limited is the command with its limit of memory, which a shell sets before it becomes the program.
func limited(o Options) ([]string, error) {
	path, err := Find(o.Command[0], o.Dir)
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	command := append([]string{path}, o.Command[1:]...)
	if o.Memory > 0 && memoryFlag != "" {
		set := "ulimit " + memoryFlag + ` "$0" && exec "$@"`
		command = append([]string{"/bin/sh", "-c", set, strconv.FormatInt((o.Memory+1023)/1024, 10)}, command...)
	}
	return command, nil
}

// wait reaps the program and ends what it started.
func (p *Process) wait(drained <-chan struct{}) {
	status := p.cmd.Wait()
	p.mu.Lock()
	p.exited = true
	p.mu.Unlock()
	killGroup(p.cmd.Process.Pid)
	select {
	case <-drained:
	case <-time.After(200 * time.Millisecond): // one that left the group holds the pipe
	}
	p.out.Close()
	<-drained
	p.mu.Lock()
	p.err = status
	if p.reason != nil {
		p.err = p.reason
	}
	p.mu.Unlock()
	close(p.ended)
	killMarked(p.name) // which looks at every process of the machine
	g := p.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tell("-", p.cmd.Process.Pid)
	delete(g.all, p)
	close(p.done)
}

// Ended is closed when the program and its group have ended, and what they printed has been read. Done comes later.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Done is closed when the program has ended and nothing is left of it.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the program ended: nil for exit status 0. Only after Ended or Done.
func (p *Process) Err() error { return p.err }

// Tail is the last lines that the program printed.
func (p *Process) Tail() string { return p.tail.String() }

// PID is the id of the program, and of its process group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the program and all that it started at once. The first reason is what Err returns.
func (p *Process) Kill(reason error) {
	p.guard.mu.Lock()
	defer p.guard.mu.Unlock()
	p.kill(reason)
}

func (p *Process) kill(reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exited {
		return
	}
	if p.reason == nil {
		p.reason = reason
	}
	killGroup(p.cmd.Process.Pid)
	p.cmd.Process.Kill()
}

// Stop asks the program to end, and kills it after grace. It returns when nothing is left of it.
func (p *Process) Stop(grace time.Duration) {
	terminate(p.cmd.Process)
	select {
	case <-p.done:
		return
	case <-time.After(grace):
	}
	p.Kill(fmt.Errorf("process: it did not end within %v", grace))
	<-p.done
}
