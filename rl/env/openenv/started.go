package openenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/process"
)

// mostDeaths is how often a server is started again without an episode of it ending.
const mostDeaths = 3

// sessionsOfStarted is how many sessions a server is asked to allow (MAX_CONCURRENT_ENVS), if the user does not say.
const sessionsOfStarted = "256"

// started is a server that runs below this process. It is started when it is first needed, and again when it died.
type started struct {
	kind *kind
	app  string // module:attribute

	mu     sync.Mutex
	proc   *process.Process
	url    string
	deaths int // in a row
}

// base returns the URL of the server, which answers there.
func (s *started) base(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		select {
		case <-s.proc.Done():
		default:
			return s.url, nil
		}
		s.deaths++
		err := s.died("died")
		s.proc = nil
		if s.deaths >= mostDeaths {
			return "", fmt.Errorf("%w\nIt has died %d times without playing an episode to its end", err, s.deaths)
		}
		s.kind.note(err.Error() + "\nIt is started again")
	}
	err := s.start(ctx)
	if err != nil && s.asPackage(err) {
		err = s.start(ctx)
	}
	return s.url, err
}

// asPackage makes the app one of the folder as a package, where the error says that its modules import one another so.
func (s *started) asPackage(err error) bool {
	name := filepath.Base(s.kind.name)
	_, missing := os.Stat(filepath.Join(s.kind.name, "__init__.py"))
	if s.kind.from != inFolder || missing != nil || strings.HasPrefix(s.app, name+".") ||
		!strings.Contains(err.Error(), "attempted relative import") {
		return false
	}
	s.app = name + "." + s.app
	return true
}

// died words the end of the process. The caller holds mu, and Done is closed.
func (s *started) died(what string) error {
	text := fmt.Sprintf("the server of %s %s", s.kind.name, what)
	if err := s.proc.Err(); err != nil {
		text += ": " + err.Error()
	}
	tail := s.proc.Tail()
	if tail != "" {
		text += "; it printed last:\n" + tail
	}
	if strings.Contains(tail, "No module named") {
		text += "\nInstall what it needs (pip install openenv and what its pyproject.toml names) for " + s.python() +
			", or name another Python with --python"
	}
	return errors.New(text)
}

// explained adds what a server that was started here printed to an error that does not say more than that there is one.
func (k *kind) explained(f *fault) error {
	if f.Code != noFactory || len(k.servers) != 1 {
		return f
	}
	s := k.servers[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil || s.proc.Tail() == "" {
		return f
	}
	return fmt.Errorf("%w; it printed last:\n%s", f, s.proc.Tail())
}

// python is the Python that runs the server: that of a virtual environment in its folder, else the user's.
func (s *started) python() string {
	for _, name := range []string{"bin/python", "Scripts/python.exe"} {
		own := filepath.Join(s.kind.name, ".venv", filepath.FromSlash(name))
		if _, err := os.Stat(own); err == nil && s.kind.from == inFolder {
			return own
		}
	}
	given := s.kind.source.opts.Python
	if strings.ContainsRune(given, filepath.Separator) { // from the current folder, not from that of the server
		if abs, err := filepath.Abs(given); err == nil {
			return abs
		}
	}
	return given
}

// start starts the process and waits until it is healthy. The caller holds mu.
func (s *started) start(ctx context.Context) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	lookup := s.kind.source.opts.LookupEnv
	o := process.Options{
		Command: []string{s.python(), "-m", "uvicorn", s.app, "--host", "127.0.0.1", "--port", strconv.Itoa(port),
			"--workers", "1", "--log-level", "warning"},
		Env:    []string{"PYTHONUNBUFFERED=1"},
		Output: s.kind.source.opts.Output,
	}
	if _, given := lookup("MAX_CONCURRENT_ENVS"); !given {
		o.Env = append(o.Env, "MAX_CONCURRENT_ENVS="+sessionsOfStarted)
	}
	if s.kind.from == inFolder { // modules of the folder, and the folder as a package
		o.Dir = s.kind.name
		paths := s.kind.name + string(os.PathListSeparator) + filepath.Dir(s.kind.name)
		if more, _ := lookup("PYTHONPATH"); more != "" {
			paths += string(os.PathListSeparator) + more
		}
		o.Env = append(o.Env, "PYTHONPATH="+paths)
	}
	if s.proc, err = s.kind.source.guard.Start(o); err != nil {
		return fmt.Errorf("the server of %s cannot be started: %w; name the Python with --python", s.kind.name, err)
	}
	s.url = "http://127.0.0.1:" + strconv.Itoa(port)
	if err := s.healthy(ctx); err != nil {
		s.proc.Kill(err)
		<-s.proc.Done()
		s.proc = nil
		return err
	}
	return nil
}

// healthy waits until the server says that it is.
func (s *started) healthy(ctx context.Context) error {
	limit := time.NewTimer(s.kind.args.start)
	defer limit.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.proc.Done():
			return s.died("ended before it answered")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-limit.C:
			return fmt.Errorf("the server of %s does not answer /health within %s; start_timeout=SECONDS in the id "+
				"gives it more. It printed last:\n%s", s.kind.name, s.kind.args.start, s.proc.Tail())
		case <-tick.C:
		}
		if err := s.kind.web.health(ctx, s.url); err == nil {
			return nil
		}
	}
}

// check ends a server that does not even answer that it is well, so that it is started again.
func (s *started) check(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil || ctx.Err() != nil {
		return
	}
	if err := s.kind.web.health(ctx, s.url); err != nil && ctx.Err() == nil {
		s.proc.Kill(fmt.Errorf("it was killed, as it did not answer: %w", err))
		<-s.proc.Done()
	}
}

// played takes note of an episode that came to its end.
func (s *started) played() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaths = 0
}

// stop ends the process.
func (s *started) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.Stop(stopGrace)
	}
}

// stopGrace is how long a server may take to end.
const stopGrace = 3 * time.Second

// healthTimeout is for one answer to /health.
const healthTimeout = 5 * time.Second

func (w *web) health(ctx context.Context, base string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	_, err := w.ask(ctx, base+"/health", nil)
	return err
}

// freePort is a port that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("a port for the server: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
