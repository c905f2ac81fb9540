package openenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/process"
)

// mostDeaths is how often a server is started again without an episode of it ending.
const mostDeaths = 3

// sessionsOfStarted is how many sessions a server is asked to allow (MAX_CONCURRENT_ENVS), if the user does not say.
const sessionsOfStarted = "256"

// started is a server that runs below this process. It is started when it is first needed, and again when it died.
type started struct {
	kind   *kind
	kept   process.Kept[*below]
	deaths atomic.Int32 // in a row

	app  string // module:attribute; of start, which runs once at a time
	last *below
}

// below is a server that was started and answers.
type below struct {
	*process.Process
	url string
}

func newStarted(k *kind) *started {
	s := &started{kind: k, app: k.app}
	s.kept = process.Kept[*below]{Open: s.open, Shut: func(b *below) { b.Stop(stopGrace) }, Alive: func(b *below) bool {
		select {
		case <-b.Done():
			return false
		default:
			return true
		}
	}}
	return s
}

// base returns the URL of the server, which answers there.
func (s *started) base(ctx context.Context) (string, error) {
	b, err := s.kept.Get(ctx)
	if err != nil {
		return "", err
	}
	return b.url, nil
}

// open starts the server, unless it dies again and again.
func (s *started) open(ctx context.Context) (b *below, err error) {
	if s.last != nil {
		err := s.wrong(fmt.Errorf("died: %w", s.last.Failure()))
		s.last = nil
		if n := s.deaths.Add(1); n >= mostDeaths {
			return nil, fmt.Errorf("%w\nIt has died %d times without playing an episode to its end", err, n)
		}
		s.kind.note(err.Error() + "\nIt is started again")
	}
	if b, err = s.start(ctx); err != nil && s.asPackage(err) {
		b, err = s.start(ctx)
	}
	s.last = b
	return b, err
}

// asPackage makes the app a module of the folder as a package, if the error shows that its modules use relative
// imports.
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

// wrong is an error of the server, with the remedy for a missing module.
func (s *started) wrong(err error) error {
	err = fmt.Errorf("the server of %s %w", s.kind.name, err)
	if strings.Contains(err.Error(), "No module named") {
		return fmt.Errorf("%w\nInstall what it needs (pip install openenv and what its pyproject.toml names) for "+
			"%s, or name another Python with --python", err, s.python())
	}
	return err
}

// explained adds the output of a server that was started here to an error without details.
func (k *kind) explained(f *fault) error {
	if f.Code == noFactory && len(k.servers) == 1 {
		if b := k.servers[0].kept.Current(); b != nil {
			return b.WithTail(f)
		}
	}
	return f
}

// python is the Python that runs the server: a virtual environment in its folder, else the user's.
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

// start starts the process and waits until it is healthy.
func (s *started) start(ctx context.Context) (*below, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
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
	p, err := s.kind.source.guard.Start(o)
	if err != nil {
		return nil, fmt.Errorf("the server of %s cannot be started: %w; name the Python with --python", s.kind.name,
			err)
	}
	b := &below{p, "http://127.0.0.1:" + strconv.Itoa(port)}
	late := fmt.Errorf("does not answer /health within %s; start_timeout=SECONDS in the id gives it more",
		s.kind.args.start)
	limited, cancel := context.WithTimeoutCause(ctx, s.kind.args.start, late)
	defer cancel()
	err = p.Ready(limited, func(ctx context.Context) bool { return s.kind.web.health(ctx, b.url) == nil })
	switch {
	case err == nil:
		return b, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, s.wrong(err)
}

// check ends a server that does not even answer that it is well, so that it is started again.
func (s *started) check(ctx context.Context) {
	b := s.kept.Current()
	if b == nil || ctx.Err() != nil {
		return
	}
	if err := s.kind.web.health(ctx, b.url); err != nil && ctx.Err() == nil {
		b.Kill(fmt.Errorf("it was killed, as it did not answer: %w", err))
		<-b.Done()
	}
}

// played notes an episode that came to its end.
func (s *started) played() { s.deaths.Store(0) }

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
