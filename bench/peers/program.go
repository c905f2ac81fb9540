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

// workRequest is one line to a program: a piece of work.
type workRequest struct {
	Work      workKind  `json:"work"`
	Model     string    `json:"model"` // a Hugging Face folder
	GGUF      string    `json:"gguf"`  // the same model's own file, for programs that read it; "": none
	IDs       [][]int32 `json:"ids"`
	Sequences int       `json:"sequences"`
	Steps     int       `json:"steps"`
	Rank      int       `json:"rank"` // of the trained adapter
	Recompute bool      `json:"recompute"`
	setting
}

// setting is the configuration with which a program does the work.
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
	Check   float64 `json:"check"`    // a result of the work: a mean loss or a log-probability
	Error   string  `json:"error"`    // the reason if there is no result
	Version string  `json:"versions"` // in the first line only
}

// program is a running process of the protocol.
type program struct {
	again   func() (*program, error) // starts another one
	late    bool                     // it has not answered in time, and may still do so
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer
	noise   *tail
	Version string
}

// start runs a program and waits for its first line, which has its versions.
func start(ctx context.Context, dir string, env []string, command ...string) (*program, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, env
	p := &program{cmd: cmd, answers: make(chan answer), noise: &tail{},
		again: func() (*program, error) { return start(ctx, dir, env, command...) }}
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

// read passes the program's lines on until there are no more.
func (p *program) read(out io.Reader) {
	defer close(p.answers)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			a.Error = fmt.Sprintf("the line %q is not an answer: %v", lines.Text(), err)
		}
		p.answers <- a
	}
}

func (p *program) wait(most time.Duration) (answer, error) {
	select {
	case a, ok := <-p.answers:
		if !ok {
			p.stop() // then its standard error is complete
			return a, fmt.Errorf("peers: %s ended: %s", p.cmd.Path, p.noise)
		}
		if a.Error != "" {
			return a, fmt.Errorf("peers: %s", a.Error)
		}
		return a, nil
	case <-time.After(most):
		p.late = true
		return answer{}, fmt.Errorf("peers: %s has not answered within %s", p.cmd.Path, most)
	}
}

// do sends one request and waits for the answer. A program that was late with the one before is started anew.
func (p *program) do(r workRequest, most time.Duration) (answer, error) {
	if p.late {
		_ = p.cmd.Process.Kill() // it is still at work
		p.stop()
		fresh, err := p.again()
		if err != nil {
			return answer{}, err
		}
		*p = *fresh
	}
	line, err := json.Marshal(r)
	if err != nil {
		return answer{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return answer{}, fmt.Errorf("peers: %s accepts no more work: %s", p.cmd.Path, p.noise)
	}
	return p.wait(most)
}

// stop ends the program and its children and waits for them. It does nothing if the program did not start.
func (p *program) stop() {
	if p == nil {
		return
	}
	p.in.Close()
	timer := time.AfterFunc(5*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	for range p.answers {
	}
	_ = p.cmd.Wait() // the exit status does not matter: the program may have been killed
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
		lines[i] = line[strings.LastIndexByte(strings.TrimRight(line, "\r"), '\r')+1:] // as a terminal shows it
	}
	return strings.Join(lines, " | ")
}
