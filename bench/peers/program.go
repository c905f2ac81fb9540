package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// request is a line to a program: one piece of work.
type request struct {
	Work      kind      `json:"work"`
	Model     string    `json:"model"` // a Hugging Face folder
	IDs       [][]int32 `json:"ids"`
	Sequences int       `json:"sequences"`
	Steps     int       `json:"steps"`
	Rank      int       `json:"rank"` // of training's adapter
	setting
}

// setting is how a program does the work.
type setting struct {
	DType   string `json:"dtype"`
	Threads int    `json:"threads"`
	Compile bool   `json:"compile"` // with the peer's compiler, if it has one
}

func (s setting) String() string {
	text := fmt.Sprintf("%s, %d threads", s.DType, s.Threads)
	if s.Threads == 1 {
		text = s.DType + ", 1 thread"
	}
	if s.Compile {
		text += ", compiled"
	}
	return text
}

// answer is a program's line to a request.
type answer struct {
	Seconds float64 `json:"seconds"`
	Check   float64 `json:"check"`    // what was computed: a mean loss, or a log-probability
	Error   string  `json:"error"`    // why there is none
	Version string  `json:"versions"` // of the first line alone
}

// program is a running process of the protocol.
type program struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer
	noise   *tail
	Version string
}

// start runs a program and waits for its first line, which tells its versions.
func start(ctx context.Context, dir string, env []string, command ...string) (*program, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, env
	p := &program{cmd: cmd, answers: make(chan answer), noise: &tail{}}
	cmd.Stderr = p.noise
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(out)
	first, err := p.wait(2 * time.Minute)
	if err != nil {
		p.stop()
		return nil, err
	}
	p.Version = first.Version
	return p, nil
}

// read hands on the program's lines until there are no more.
func (p *program) read(out io.Reader) {
	defer close(p.answers)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			a.Error = fmt.Sprintf("the line %q is no answer: %v", lines.Text(), err)
		}
		p.answers <- a
	}
}

func (p *program) wait(most time.Duration) (answer, error) {
	select {
	case a, ok := <-p.answers:
		if !ok {
			return a, fmt.Errorf("peers: %s ended: %s", p.cmd.Path, p.noise)
		}
		if a.Error != "" {
			return a, fmt.Errorf("peers: %s", a.Error)
		}
		return a, nil
	case <-time.After(most):
		return answer{}, fmt.Errorf("peers: %s has not answered within %s", p.cmd.Path, most)
	}
}

// do has the work done once.
func (p *program) do(r request, most time.Duration) (answer, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return answer{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return answer{}, fmt.Errorf("peers: %s takes no more work: %s", p.cmd.Path, p.noise)
	}
	return p.wait(most)
}

// stop ends the program, and its children with it, and waits for that. A program that did not start is none.
func (p *program) stop() {
	if p == nil {
		return
	}
	p.in.Close()
	timer := time.AfterFunc(5*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	for range p.answers {
	}
	_ = p.cmd.Wait() // how it ended says nothing: it may have been told to
}

// tail keeps the last lines of a program's standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-2000):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	lines = lines[max(0, len(lines)-3):]
	for i, line := range lines {
		lines[i] = line[strings.LastIndexByte(strings.TrimRight(line, "\r"), '\r')+1:] // what a terminal would show
	}
	return strings.Join(lines, " | ")
}
