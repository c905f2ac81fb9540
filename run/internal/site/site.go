// Package site is what a run gets from its surroundings rather than from its configuration: where it prints, what stops
// it, where it finds files, models and data sets, and the parts that the program brings.
package site

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// ErrInterrupted says that a run ended because it was asked to stop.
var ErrInterrupted = errors.New("run: interrupted")

// Site is the surroundings of a run. Hub, Cache and Own may be empty.
type Site struct {
	Out       io.Writer                   // for progress, notes and the summary
	Terminal  bool                        // Out is one
	Busy      *console.Busy               // what Out is where it is none; nil: nobody is told
	Stop      <-chan struct{}             // closed: finish the step, save, end
	LookupEnv func(string) (string, bool) // reads a variable of the environment
	Now       func() time.Time
	Threads   int                      // of the local engine; 0 is all
	Order     string                   // in which a new job's bf16 products add; empty is the processor's own
	Memory    int64                    // of the machine, in bytes; 0 is not known
	Find      func(path string) string // turns a path of the configuration into where the file is
	Hub       *hub.Hub                 // nil: only local files
	Cache     string                   // for what is made of other files, such as GGUF; "": nothing can be made
	Ollama    []string                 // where Ollama's store may be; nil: nowhere
	Rollouts  string                   // address to serve the URLs of rollouts at; "": that of the configuration
	Version   string                   // of the program, which the workers of a fleet must have
	FS        disk.FS
	Sandboxes bool     // the program can be started as the stage of a sandbox
	Python    string   // the user's: a path, a name in PATH, or a folder; "" is python3
	Imports   []string // folders that it imports from
	Own       Own
}

// Own are the parts that the program brings, by the names that its configurations use.
type Own struct {
	workflow.Own
	algorithm.Tables
	Operators map[string]pipeline.Make
	Selectors map[string]dataset.OpenSelector
	Monitors  map[string]monitor.OpenSink
	Readers   map[string]OpenReader

	Environments env.Finder // of environments in Python; nil: there is no Python
	Tasksets     OpenTasks  // of environments of verifiers; nil: there is no Python
	Servers      env.Finder // of environments on OpenEnv servers; nil: there are none
}

// OpenTasks reads the tasks of an environment by its id, with the workflow_args of the taskset.
type OpenTasks func(ctx context.Context, id string, args map[string]any) (*dataset.Source, error)

// OpenReader reads all rows of a taskset, whose section is given.
type OpenReader func(ctx context.Context, section map[string]any) (*dataset.Source, error)

// WhileWanted returns ctx until the run is asked to stop: a download ends then, and the next start continues it.
func (s Site) WhileWanted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-s.Stop:
			cancel(ErrInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Closers are the parts to close, in the order of their opening. The zero value is ready for use.
type Closers struct{ list []func() error }

// Add remembers how to close a part.
func (c *Closers) Add(close func() error) { c.list = append(c.list, close) }

// Close closes the parts, the last one first.
func (c *Closers) Close() error {
	var errs []error
	for i := len(c.list) - 1; i >= 0; i-- {
		errs = append(errs, c.list[i]())
	}
	c.list = nil
	return errors.Join(errs...)
}
