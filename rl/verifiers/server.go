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
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/process"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// script runs in the user's Python.
//
//go:embed host.py
var script string

// The times of a server.
const (
	startTimeout = 5 * time.Minute // Python imports a lot
	stopTimeout  = 5 * time.Second
)

// Lines of host.py for this package begin so.
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

// start starts host.py and passes its output to line.
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

// link is a server that answers.
type link struct {
	client   *client
	process  *process.Process // nil: it was joined
	patience time.Duration
}

// newServer returns the env server of some settings. It is started when it is first asked.
func newServer(h host, s settings) *process.Kept[*link] {
	open := func(ctx context.Context) (*link, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("it was not ready within %v",
			startTimeout))
		defer cancel()
		if s.joins() {
			return join(ctx, s.ID, h.patience)
		}
		return h.serve(ctx, s)
	}
	return &process.Kept[*link]{Open: open, Alive: (*link).alive, Shut: (*link).close}
}

func (l *link) alive() bool {
	select {
	case <-l.client.ended:
		return false
	default:
		return true
	}
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

// serve starts a server with the user's Python.
func (h host) serve(ctx context.Context, s settings) (*link, error) {
	address, refused := make(chan string, 1), make(chan string, 1)
	p, err := h.start(s, map[string]any{}, func(line string) {
		if at, is := strings.CutPrefix(line, addressIs); is {
			offer(address, at)
		} else if why, is := strings.CutPrefix(line, refusedIs); is {
			offer(refused, why)
		} else {
			h.log(line)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("verifiers: %w; install Python, or name one with --python", err)
	}
	var c *client
	if err = p.Ready(ctx, func(context.Context) bool { return len(address) > 0 }); err == nil {
		if c, err = dial(ctx, <-address); err == nil {
			err = c.health(ctx, startTimeout)
		}
	}
	if err == nil {
		return &link{c, p, h.patience}, nil
	}
	if c != nil {
		c.Close()
	}
	p.Kill(err)
	<-p.Done()
	select {
	case why := <-refused:
		return nil, fmt.Errorf("verifiers: %s", why)
	default:
		return nil, fmt.Errorf("verifiers: the env server of %s: %w", s.ID, err)
	}
}

// offer sends the first text alone.
func offer(to chan string, text string) {
	select {
	case to <- text:
	default:
	}
}

// lost says more about an error of a request: how the server ended, if it did.
func (l *link) lost(err error) error {
	if l.process == nil || l.alive() {
		return err
	}
	select {
	case <-l.process.Done():
		return fmt.Errorf("the env server died: %w", l.process.Failure())
	case <-time.After(time.Second): // it ended the connection and lives
		return err
	}
}

// close ends the connection and the server, if it was started here: at once if it does not answer any more.
func (l *link) close() {
	answers := l.alive()
	l.client.Close()
	switch {
	case l.process == nil:
	case answers:
		l.process.Stop(stopTimeout)
	default:
		l.process.Kill(errors.New("verifiers: the env server did not answer"))
		<-l.process.Done()
	}
}
