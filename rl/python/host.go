package python

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	programs "github.com/seed-d9ad8ee0/trinity/internal/process"
)

// Options say how a Host runs. The zero value of a field is its default.
type Options struct {
	Executable string        // the Python to run, a path or a name in PATH; see Find. Default python3.
	Folder     string        // where the carried library is unpacked, such as the job's. Default: a temporary one.
	Dirs       []string      // folders of the user's modules, on sys.path behind the library
	Env        []string      // NAME=value, beside the environment of this process
	Imports    []string      // modules that fill trinity._host.calls, imported at the start of every process
	Processes  int           // at least one, the default
	Threads    int           // calls of plain functions that run at once in a process; default 1024
	Memory     int64         // bytes of a process, 0 for no limit; see the package comment
	Grace      time.Duration // for a cancelled call to end, after which its process is replaced; default 10 s
	MaxMessage int           // bytes of a message; default 256 MiB

	// Setup runs on every process before its first call, also on replacements: it loads what calls need. Open
	// returns its error, or the call for which the process was started.
	Setup func(ctx context.Context, process Caller) error

	// Log gets the output and logs of Python, line by line. It must not block for long. nil drops it.
	Log func(Entry)
}

// Entry is one or more lines that Python printed or logged.
type Entry struct {
	Process int    // index, from 0
	Task    string // from the call's context, see WithTask; "" outside of calls
	Call    string // name of the call; "" outside
	Level   string // debug, info (also print), warning (also stderr), error
	Text    string // without the last newline
}

// Up answers a call back that Python makes within a call. It runs on a goroutine of its own; its context ends with the
// call's. The result is marshalled as JSON; an error becomes trinity._host.UpError.
type Up func(ctx context.Context, name string, args json.RawMessage) (any, error)

// Caller makes calls: a Host on any process, a Session always on the same one.
type Caller interface {
	// Call calls the function name with args, an object as JSON, and unmarshals its result into result, which may
	// be nil. up may be nil if the function calls nothing back. Errors are *Error if Python raised, *Lost if the
	// process died, hung or broke the protocol, *Cancelled if ctx ended or the limit passed, see WithLimit.
	Call(ctx context.Context, name string, args, result any, up Up) error
}

// Host is a set of Python processes. Its methods may be used from any goroutine.
type Host struct {
	opts    Options
	lib     string
	remove  func() // the temporary folder
	guard   *programs.Guard
	slots   []*slot
	running sync.WaitGroup // goroutines of calls and processes

	closing sync.Once
	noted   atomic.Bool // some process has looked for an installed trinity-rft

	mu     sync.Mutex
	closed bool
	all    map[*process]bool // every process that is not reaped
}

// Open starts the processes and returns when all are ready for calls.
func Open(ctx context.Context, opts Options) (*Host, error) {
	h := &Host{opts: opts.withDefaults(), all: map[*process]bool{}}
	path, err := lookup(h.opts.Executable)
	if err != nil {
		return nil, err
	}
	h.opts.Executable = path
	if h.lib, h.remove, err = unpack(h.opts.Folder); err != nil {
		return nil, err
	}
	h.guard = programs.NewGuard()
	for i := range h.opts.Processes {
		h.slots = append(h.slots, newSlot(h, i))
	}
	starts, sctx := errgroup.WithContext(ctx)
	for _, s := range h.slots {
		starts.Go(func() error { _, err := s.process(sctx); return err })
	}
	if err := starts.Wait(); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

func (o Options) withDefaults() Options {
	if o.Executable == "" {
		o.Executable = Find("", "")
	}
	o.Processes = max(o.Processes, 1)
	if o.Threads <= 0 {
		o.Threads = 1024
	}
	if o.Grace <= 0 {
		o.Grace = 10 * time.Second
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = 256 << 20
	}
	if o.Log == nil {
		o.Log = func(Entry) {}
	}
	return o
}

// Call implements Caller on the process with the least to do.
func (h *Host) Call(ctx context.Context, name string, args, result any, up Up) error {
	for {
		p, err := h.idlest().process(ctx)
		if err != nil {
			return err
		}
		if err := p.Call(ctx, name, args, result, up); err != errRetired {
			return err
		}
	}
}

// Session returns a Caller whose calls all go to one process, for state that lives there. When that process is lost, so
// is the session: its calls fail with *Lost, and a new one begins anew. Close it.
func (h *Host) Session(ctx context.Context) (*Session, error) {
	for {
		p, err := h.idlest().process(ctx)
		if err != nil {
			return nil, err
		}
		if p.hold() {
			return &Session{p: p}, nil
		}
	}
}

// idlest returns the slot with the fewest calls and sessions.
func (h *Host) idlest() *slot {
	best := h.slots[0]
	least := best.load()
	for _, s := range h.slots[1:] {
		if n := s.load(); n < least {
			best, least = s, n
		}
	}
	return best
}

// Processes returns the ids of the running processes.
func (h *Host) Processes() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ids []int
	for p := range h.all {
		ids = append(ids, p.program.PID())
	}
	return ids
}

// Close ends all processes, with the children they have. Calls in progress fail with *Lost. It returns when nothing is
// left.
func (h *Host) Close() error {
	h.closing.Do(h.close)
	return nil
}

func (h *Host) close() {
	h.mu.Lock()
	h.closed = true
	all := make([]*process, 0, len(h.all))
	for p := range h.all {
		all = append(all, p)
	}
	h.mu.Unlock()
	for _, p := range all {
		p.leave()
	}
	for _, s := range h.slots {
		h.running.Go(s.kept.Close)
	}
	h.running.Wait()
	h.guard.Close()
	h.remove()
}

// spawn runs a goroutine that Close waits for, unless it is too late for that.
func (h *Host) spawn(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.running.Go(f)
	}
	return !h.closed
}

// Session is a Caller bound to one process. See Host.Session.
type Session struct {
	p    *process
	once sync.Once
}

// Call implements Caller.
func (s *Session) Call(ctx context.Context, name string, args, result any, up Up) error {
	err := s.p.call(ctx, name, args, result, up)
	if err == errRetired { // another process does not have what the session has
		return s.p.lostIn(name)
	}
	return err
}

// Alive reports whether the session's process is neither lost nor about to be replaced.
func (s *Session) Alive() bool { return s.p.usable() }

// Close ends the session; calls after it may fail.
func (s *Session) Close() { s.once.Do(s.p.release) }

type taskKey struct{}

// WithTask names the task of calls made with the context: Entry.Task.
func WithTask(ctx context.Context, task string) context.Context {
	return context.WithValue(ctx, taskKey{}, task)
}

func taskOf(ctx context.Context) string {
	task, _ := ctx.Value(taskKey{}).(string)
	return task
}
