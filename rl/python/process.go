package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	programs "github.com/seed-d9ad8ee0/trinity/internal/process"
)

// bootstrap starts the host, on any Python: one that is too old still names its version. The library is first on
// sys.path, and the current folder is not on it.
const bootstrap = `import sys
if sys.version_info < (3, 10):
    sys.stdout.write('{"hello":{"protocol":1,"python":"%d.%d.%d","executable":"","pid":0}}\n' % sys.version_info[:3])
    sys.exit(0)
import json
settings = json.loads(sys.argv[1])
sys.path[:] = [settings["lib"]] + [p for p in sys.path if p]
sys.argv[:] = ["trinity"]
from trinity._host.main import main
main(settings)
`

// The times of a process.
const (
	startTimeout = 5 * time.Minute // until hello: an overloaded machine takes minutes
	leaveTimeout = 4 * time.Second // to end after its input ended; its exit handlers have 2
)

// errRetired makes Host.Call choose again.
var errRetired = errors.New("python: the process takes no more calls")

// process is a running Python with its calls.
type process struct {
	host    *Host
	index   int
	program *programs.Process
	send    chan []byte
	hello   chan hello

	gone chan struct{} // closed when its calls are failed, and lost is set
	lost *Lost

	mu       sync.Mutex
	calls    map[uint64]*call
	last     uint64 // id
	sessions int
	retired  bool  // takes no new calls
	reason   error // why it is being killed
}

// startProcess starts a Python and runs the Setup on it.
func startProcess(ctx context.Context, h *Host, index int) (*process, error) {
	p := &process{
		host: h, index: index, send: make(chan []byte, 1024), hello: make(chan hello, 1),
		gone: make(chan struct{}), calls: map[uint64]*call{},
	}
	if err := p.start(); err != nil {
		return nil, err
	}
	err := p.ready(ctx)
	if err == nil {
		return p, nil
	}
	p.kill(err)
	<-p.gone
	return nil, err
}

// start runs the program. Its stderr is logged.
func (p *process) start() error {
	settings, err := json.Marshal(map[string]any{
		"lib": p.host.lib, "dirs": p.host.opts.Dirs, "threads": p.host.opts.Threads, "memory": p.host.opts.Memory,
		"line": p.host.opts.MaxMessage, "first": p.host.noted.CompareAndSwap(false, true),
	})
	if err != nil {
		return err
	}
	p.host.mu.Lock()
	defer p.host.mu.Unlock()
	if p.host.closed {
		err = &Lost{Call: "start", Process: p.index, Reason: ErrClosed}
	} else {
		p.program, err = p.host.guard.Start(programs.Options{
			Command: []string{p.host.opts.Executable, "-c", bootstrap, string(settings)}, Env: p.host.opts.Env,
			Piped:  true,
			Output: func(line string) { p.log(wireLog{Level: "warning", Text: line}) }})
	}
	if err != nil {
		return fmt.Errorf("python: %w", err)
	}
	p.host.all[p] = true
	p.run()
	return nil
}

// run starts the goroutines. They end when the process has.
func (p *process) run() {
	read := make(chan struct{})
	wg := &p.host.running
	wg.Go(func() { defer close(read); p.read() })
	wg.Go(p.write)
	wg.Go(func() { p.wait(read) })
}

// ready waits for hello, imports the modules and runs the Setup.
func (p *process) ready(ctx context.Context) error {
	select {
	case h := <-p.hello:
		if err := tooOld(p.host.opts.Executable, h.Python); err != nil {
			return err
		}
		if h.Protocol != protocol {
			return fmt.Errorf("python: the library speaks protocol %d, not %d", h.Protocol, protocol)
		}
	case <-p.gone:
		return p.lostIn("start")
	case <-ctx.Done():
		return &Lost{Call: "start", Process: p.index, Reason: ErrClosed}
	case <-time.After(startTimeout):
		return fmt.Errorf("python: %s did not answer for %s: see whether `%[1]s -c pass` ends; else the machine is "+
			"overloaded", p.host.opts.Executable, startTimeout)
	}
	if modules := p.host.opts.Imports; len(modules) > 0 {
		if err := p.call(ctx, "host.import", map[string]any{"modules": modules}, nil, nil); err != nil {
			return err
		}
	}
	if p.host.opts.Setup == nil {
		return nil
	}
	return p.host.opts.Setup(ctx, p)
}

// wait waits for the end of the process and its group, and fails its calls when all that it wrote has been read.
func (p *process) wait(read <-chan struct{}) {
	<-p.program.Ended()
	select {
	case <-read:
	case <-time.After(200 * time.Millisecond): // a child that cannot be found holds the pipe
	}
	p.program.In.Close()
	p.program.Out.Close()
	p.mu.Lock()
	p.retired = true
	reason := p.reason
	if reason == nil {
		reason = fmt.Errorf("it ended: %w", p.program.End())
	}
	p.lost = &Lost{Process: p.index, Reason: reason, Stderr: p.program.Tail()}
	p.mu.Unlock()
	close(p.gone)
	p.host.mu.Lock()
	delete(p.host.all, p)
	p.host.mu.Unlock()
}

// kill ends the process at once, with its children. The first reason counts.
func (p *process) kill(reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = true
	if p.reason == nil {
		p.reason = reason
	}
	p.program.Kill(nil)
}

// leave ends the process in order: its input ends, and if it does not end then, it is killed.
func (p *process) leave() {
	p.mu.Lock()
	p.retired = true
	if p.reason == nil {
		p.reason = ErrClosed
	}
	p.mu.Unlock()
	p.host.running.Go(func() { p.program.Leave(leaveTimeout) })
}

// lostIn is the error of a call. Only after gone.
func (p *process) lostIn(name string) error {
	lost := *p.lost
	lost.Call = name
	return &lost
}
