package verifiers

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/process"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// script is what the user's Python runs.
//
//go:embed host.py
var script string

// The times of a server.
const (
	startTimeout = 5 * time.Minute // Python imports a lot
	stopTimeout  = 5 * time.Second
)

// What host.py prints for this package.
const (
	addressIs = "trinity: address "
	refusedIs = "trinity: refused: "
)

// host runs host.py.
type host struct {
	executable string // a path, a name in PATH, or the folder of a virtual environment; "" is python3
	path       []string
	guard      *process.Guard
	log        func(line string)
	patience   time.Duration // for an answer to health
}

// start starts host.py and hands the lines on that it prints.
func (h host) start(s settings, told map[string]any, line func(string)) (*process.Process, error) {
	told["id"], told["taskset"], told["config"], told["workers"] = s.ID, s.Taskset, s.Config, s.Workers
	folders := []string{}
	for _, dir := range append(filepath.SplitList(s.Dir), h.path...) {
		if abs, err := filepath.Abs(dir); err == nil {
			folders = append(folders, abs)
		}
	}
	told["folders"] = folders
	data, err := json.Marshal(told)
	if err != nil {
		return nil, err
	}
	executable := h.executable
	if executable == "" {
		executable = python.Find("", "")
	}
	if info, err := os.Stat(executable); err == nil && info.IsDir() {
		executable = python.Find("", executable)
	}
	env := []string{"PYTHONUNBUFFERED=1", "NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost"}
	return h.guard.Start(process.Options{Command: []string{executable, "-c", script, string(data)}, Env: env,
		Memory: s.Memory, Output: line})
}

// server is the env server of some settings. It is started when it is first asked.
type server struct {
	ctx      context.Context // of its start
	host     host
	settings settings

	mu      sync.Mutex
	current *link
	next    *starting // nil when none is being started
}

// link is a server that answers.
type link struct {
	client   *client
	process  *process.Process // nil: it was joined
	patience time.Duration
}

type starting struct {
	done chan struct{}
	link *link
	err  error
}

// reach returns the server that answers, and starts one if there is none.
func (s *server) reach(ctx context.Context) (*link, error) {
	s.mu.Lock()
	if l := s.current; l != nil && l.alive() {
		s.mu.Unlock()
		return l, nil
	}
	next := s.next
	if next == nil {
		next = &starting{done: make(chan struct{})}
		s.next = next
		go s.begin(next)
	}
	s.mu.Unlock()
	select {
	case <-next.done:
		return next.link, next.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *link) alive() bool {
	select {
	case <-l.client.ended:
		return false
	default:
		return true
	}
}

// begin starts or joins the server.
func (s *server) begin(next *starting) {
	s.mu.Lock()
	old := s.current
	s.mu.Unlock()
	if old != nil {
		old.close(0)
	}
	ctx, cancel := context.WithTimeoutCause(s.ctx, startTimeout,
		fmt.Errorf("it was not ready within %v", startTimeout))
	defer cancel()
	if s.settings.joins() {
		next.link, next.err = join(ctx, s.settings.ID, s.host.patience)
	} else {
		next.link, next.err = s.start(ctx)
	}
	s.mu.Lock()
	s.current, s.next = next.link, nil
	s.mu.Unlock()
	close(next.done)
}

// join connects to a server that runs already.
func join(ctx context.Context, address string, patience time.Duration) (*link, error) {
	c, err := dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("verifiers: no env server answers at %s: %w; start one with "+
			"verifiers.v1.serve.serve_env, or set env_id: verifiers:ID, which starts it", address, err)
	}
	if err := c.health(ctx, patience); err != nil {
		if c.legacy(ctx, patience) {
			err = errors.New("it is a legacy server (verifiers 0.2 and older), whose messages are others; serve the " +
				"environment with verifiers 0.3 or newer")
		}
		c.Close()
		return nil, fmt.Errorf("verifiers: the env server at %s: %w", address, err)
	}
	return &link{client: c, patience: patience}, nil
}

// start starts a server with the user's Python.
func (s *server) start(ctx context.Context) (*link, error) {
	address, refused := make(chan string, 1), make(chan string, 1)
	say := func(to chan string, text string) {
		select {
		case to <- text:
		default:
		}
	}
	p, err := s.host.start(s.settings, map[string]any{}, func(line string) {
		if at, is := strings.CutPrefix(line, addressIs); is {
			say(address, at)
			return
		}
		if why, is := strings.CutPrefix(line, refusedIs); is {
			say(refused, why)
			return
		}
		s.host.log(line)
	})
	if err != nil {
		return nil, fmt.Errorf("verifiers: %w; install Python, or name one with --python", err)
	}
	fail := func(err error) (*link, error) {
		p.Kill(err)
		<-p.Done()
		return nil, fmt.Errorf("verifiers: the env server of %s: %w", s.settings.ID, withTail(err, p.Tail()))
	}
	select {
	case at := <-address:
		c, err := dial(ctx, at)
		if err != nil {
			return fail(err)
		}
		if err := c.health(ctx, startTimeout); err != nil {
			c.Close()
			return fail(err)
		}
		return &link{c, p, s.host.patience}, nil
	case <-p.Done():
		select {
		case why := <-refused:
			return nil, fmt.Errorf("verifiers: %s", why)
		default:
			return fail(fmt.Errorf("it ended before it was ready: %w", endOf(p)))
		}
	case <-ctx.Done():
		return fail(context.Cause(ctx))
	}
}

// endOf is how a process ended.
func endOf(p *process.Process) error {
	if err := p.Err(); err != nil {
		return err
	}
	return errors.New("exit status 0")
}

func withTail(err error, tail string) error {
	if tail == "" {
		return err
	}
	return fmt.Errorf("%w; the last that it printed:\n%s", err, tail)
}

// lost says more about an error of a request: how the server ended, if it did.
func (l *link) lost(err error) error {
	if l.process == nil || l.alive() {
		return err
	}
	select {
	case <-l.process.Done():
		return withTail(fmt.Errorf("the env server died: %w", endOf(l.process)), l.process.Tail())
	case <-time.After(time.Second): // it ended the connection and lives
		return err
	}
}

// check drops a server that hangs, so that the next rollout has another. After ctx there is no next one.
func (l *link) check(ctx context.Context) {
	if l.client.health(ctx, l.patience) != nil && ctx.Err() == nil {
		l.close(0)
	}
}

// close ends the connection and, after grace, the server, if it was started here.
func (l *link) close(grace time.Duration) {
	l.client.Close()
	if l.process == nil {
		return
	}
	if grace > 0 {
		l.process.Stop(grace)
		return
	}
	l.process.Kill(errors.New("verifiers: the env server did not answer"))
	<-l.process.Done()
}

// Close ends the server.
func (s *server) close() {
	s.mu.Lock()
	next := s.next
	s.mu.Unlock()
	if next != nil {
		<-next.done
	}
	s.mu.Lock()
	l := s.current
	s.current = nil
	s.mu.Unlock()
	if l != nil {
		l.close(stopTimeout)
	}
}
