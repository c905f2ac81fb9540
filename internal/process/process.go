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

// Options describe a program to start.
type Options struct {
	Command []string // the program and its arguments
	Dir     string   // where it runs; "" is the current folder
	Env     []string // NAME=value, beside the variables of this program, which they replace
	Stdin   string   // a file; "" is an empty input
	Memory  int64    // bytes of each of its processes; 0 is no limit. Only where there is a shell.
	Output  func(line string)

	Alone bool // Env is the whole environment
	// Piped gives the caller the program's input and output, as Process.In and Process.Out. Output then gets stderr.
	Piped bool
}

// Process is a program that was started. It is safe for concurrent use.
type Process struct {
	In, Out *os.File // of Options.Piped; the caller closes them

	guard *Guard
	cmd   *exec.Cmd
	name  string   // in the environment of its processes
	out   *os.File // its output, or stderr alone
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
	if !o.Alone {
		p.cmd.Env = p.cmd.Environ()
	}
	p.cmd.Env = slices.Concat(p.cmd.Env, o.Env, []string{p.name})
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
func (p *Process) start(o Options) (err error) {
	var theirs, ours []*os.File
	defer func() {
		if err != nil {
			theirs = append(theirs, ours...)
		}
		for _, f := range theirs {
			f.Close()
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	var in, out, said *os.File
	p.out, said = pipe()
	theirs, ours = append(theirs, said), append(ours, p.out)
	p.cmd.Stdout, p.cmd.Stderr = said, said
	switch {
	case o.Piped:
		in, p.In = pipe()
		p.Out, out = pipe()
		theirs, ours = append(theirs, in, out), append(ours, p.In, p.Out)
		p.cmd.Stdin, p.cmd.Stdout = in, out
	case o.Stdin != "" && err == nil:
		if in, err = os.Open(o.Stdin); err == nil {
			theirs = append(theirs, in)
			p.cmd.Stdin = in
		}
	}
	if err != nil {
		return err
	}
	return p.cmd.Start()
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

// wait reaps the program and ends its children.
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

// Ended is closed when the program and its group have ended, and their output has been read. Done comes later.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Done is closed when the program has ended and nothing is left of it.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the program ended: nil for exit status 0. Only after Ended or Done.
func (p *Process) Err() error { return p.err }

// Tail is the last lines that the program printed.
func (p *Process) Tail() string { return p.tail.String() }

// PID is the id of the program, and of its process group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the program and all that it started at once. Err returns the first reason.
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

// Leave closes the program's input, and ends the program if it runs on for longer than grace. It returns when nothing
// is left of it.
func (p *Process) Leave(grace time.Duration) {
	p.In.Close()
	select {
	case <-p.done:
	case <-time.After(grace):
		p.Stop(grace)
	}
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
