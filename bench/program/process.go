package program

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
)

// Process is a started command. It collects what the command says on both outputs.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when err is set
	err  error

	mu   sync.Mutex
	said bytes.Buffer
	more chan struct{} // closed at the next output
}

// Start starts a command.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{}), more: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p, p
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Write implements io.Writer for the command's outputs.
func (p *Process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.more)
	p.more = make(chan struct{})
	return p.said.Write(b)
}

// Said is everything that the command has said.
func (p *Process) Said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// Await waits until the command has said something that matches, and returns the first match and its groups. It is an
// error if the command ends before.
func (p *Process) Await(pattern *regexp.Regexp) ([]string, error) {
	for ended := false; ; {
		p.mu.Lock()
		found, more := pattern.FindStringSubmatch(p.said.String()), p.more
		p.mu.Unlock()
		if found != nil {
			return found, nil
		}
		if ended {
			return nil, fmt.Errorf("%s ended (%v) and did not say %q; it said:\n%s", p.cmd.Args[0], p.err, pattern,
				p.Said())
		}
		select {
		case <-more:
		case <-p.done:
			ended = true
		}
	}
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal; a process that has ended gets none.
func (p *Process) Signal(s os.Signal) { p.cmd.Process.Signal(s) }

// Kill ends the process as kill -9 does. It does not wait until the system has cleaned up.
func (p *Process) Kill() { p.cmd.Process.Kill() }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the process has ended.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}
