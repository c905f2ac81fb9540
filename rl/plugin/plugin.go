// Package plugin makes workflows, reward functions, operators and data readers of the Python files of a plug-in folder,
// as users of Trinity-RFT write them. The files import a package trinity that this binary carries (rl/python/lib), and
// run in processes of the user's own Python (rl/python).
//
// Requests from Python to the model are sampled and recorded here: an experience that Python returns is built from the
// recorded tokens and logprobs, so they match the trainer's to the last bit. Tokens that nobody
// sampled, such as an answer that a workflow wrote itself, get the logprobs of the weights that the step samples with.
package plugin

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// Options set a Set up.
type Options struct {
	Dirs []string // plug-in folders, each of whose .py files is loaded
	// that a configuration names, such as examples.mine.workflow.Mine, harbor_workflow and rewards as mine.py:right
	Dotted Names
	Find   func(path string) string // where a reward's file lies; nil: at its path
	Python python.Options

	RewardTimeout time.Duration // for one call of a reward function while it runs; 0: none
	Rewards       int           // calls of reward functions at a time; 0: any number
}

// Names are names of parts by their kinds.
type Names struct {
	Workflows []string `json:"workflows"`
	Rewards   []string `json:"rewards"`
	Operators []string `json:"operators"`
}

// Set is the loaded plug-ins. It is safe for concurrent use and must be closed.
type Set struct {
	Found

	host *python.Host
	opts Options

	functions map[string][]term // of Dotted.Rewards, by name
	ctx       context.Context   // of calls that are given none; it ends with Close
	end       context.CancelFunc
	rewards   chan struct{} // one place for each call of a reward function; nil: any number
}

// Open starts the processes and loads the files. Files that cannot be loaded are in Found.Errors; the others are used.
func Open(ctx context.Context, o Options) (*Set, error) {
	s := &Set{opts: o}
	if o.Find == nil {
		o.Find = func(path string) string { return path }
	}
	var err error
	if s.functions, err = functions(o.Dotted.Rewards, o.Find); err != nil {
		return nil, err
	}
	var once sync.Once
	p := o.Python
	p.Imports = append(p.Imports, "trinity._plugin.calls")
	p.Setup = func(ctx context.Context, process python.Caller) error {
		var found Found
		args := map[string]any{"dirs": o.Dirs, "dotted": o.Dotted, "functions": s.functions}
		if err := process.Call(ctx, "plugin.load", args, &found, nil); err != nil {
			return fmt.Errorf("plugin: loading %s: %w", strings.Join(o.Dirs, ", "), err)
		}
		once.Do(func() { s.Found = found })
		return nil
	}
	if s.host, err = python.Open(ctx, p); err != nil {
		return nil, err
	}
	s.ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	if o.Rewards > 0 {
		s.rewards = make(chan struct{}, o.Rewards)
	}
	return s, nil
}

// Host is where the files run. It ends with the Set.
func (s *Set) Host() *python.Host { return s.host }

// Close ends the processes. Calls in progress fail.
func (s *Set) Close() error {
	s.end()
	return s.host.Close()
}

// Found lists the parts that plug-in files register.
type Found struct {
	Workflows map[string]Part `json:"workflows"`
	Rewards   map[string]Part `json:"rewards"`
	Operators map[string]Part `json:"operators"`
	Readers   map[string]Part `json:"readers"`
	Refused   []Refused       `json:"refused"`
	Errors    []FileError     `json:"errors"`
}

// Part is a class that a file registers.
type Part struct {
	Place   string `json:"place"`   // file:line
	Repeats bool   `json:"repeats"` // of a workflow: one run gives all repetitions
	Async   bool   `json:"async"`   // of a workflow: it is a coroutine
	Wrong   string `json:"wrong"`   // why it cannot be used; "" if it can
}

// Refused is a part that a file registers and that cannot be used here.
type Refused struct {
	Name    string `json:"name"`
	What    string `json:"what"`    // its kind, such as "the policy loss"
	Instead string `json:"instead"` // the remedy
	Place   string `json:"place"`
}

func (r Refused) String() string {
	return fmt.Sprintf("%s %s (%s) cannot be used here: %s", r.What, r.Name, r.Place, r.Instead)
}

// FileError is a file or a dotted path that could not be loaded.
type FileError struct {
	File      string `json:"file"`
	Line      int    `json:"line"` // 0: not known
	Type      string `json:"type"` // of the exception
	Message   string `json:"message"`
	Traceback string `json:"traceback"`
}

func (e FileError) String() string {
	place := e.File
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return fmt.Sprintf("%s: %s: %s", place, e.Type, e.Message)
}

// Failed lists the files that could not be loaded, as the end of an error about an unknown name.
func (f *Found) Failed() string {
	var b strings.Builder
	for _, e := range f.Errors {
		fmt.Fprintf(&b, "; not loaded: %v", e)
	}
	return b.String()
}
