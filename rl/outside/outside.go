// Package outside is how programs outside this one join a run: the user's Python, agents, servers of environments,
// tools. Each is a World in a package of its own; package run lists them and knows no more of them than this.
package outside

import (
	"context"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// World joins one kind of outside program to a run. Its options are its fields; making it starts nothing.
type World interface {
	// Claims reports whether the configuration names something of this world.
	Claims(n Named) bool
	// Open returns what the world gives to the run. It is called at most once, and only after Claims said yes. It
	// starts a program only to learn what the program gives; the others start when they are first used, so that a
	// configuration can be checked without them. ctx bounds Open alone: what runs afterwards ends with Close.
	Open(ctx context.Context, n Named, s Site) (Parts, error)
	// Close ends everything that was started. It may be called without Open, and after Open failed.
	Close() error
}

// Named lists the names in a configuration, or in the keys of trinity gem.
type Named struct {
	Folders      []string // of plug-in files
	Workflows    []string // default_workflow_type of the tasksets
	Rewards      []string // default_reward_fn_type
	Operators    []string // of the experience pipeline
	Storage      []string // storage_type of the tasksets
	Paths        []string // of the tasksets
	Environments []string // ids of environments: workflow_args.env_id, or gem's env_id
}

// Parts are given to a run by worlds, by the names that configurations use.
type Parts struct {
	Workflows    map[string]workflow.Workflow
	Rewards      map[string]reward.Func
	Operators    map[string]pipeline.Make
	Readers      map[string]Reader           // by storage_type
	Tasks        map[string]Tasks            // by the prefix of a taskset's path
	Environments map[string]env.Finder       // by the prefix of ids
	Carriers     map[string]workflow.Carrier // by the name of the workflow's By
	Tools        env.Toolbox                 // nil: none
	Failed       string                      // what could not be loaded, as the end of an error about an unknown name
}

// Reader reads all rows of a taskset, whose section of the configuration is given.
type Reader func(ctx context.Context, section map[string]any) (*dataset.Source, error)

// Tasks reads the tasks of an environment by its id, with the workflow_args of the taskset.
type Tasks func(ctx context.Context, id string, args map[string]any) (*dataset.Source, error)

// Site is given to worlds by a run. No field is nil, unless its comment says so. Folder, Judges and Player know their
// answers only once the job is open: call them when the answer is needed, not in Open.
type Site struct {
	Python    string          // the user's: a path, a name in PATH, or a folder; "" is python3
	Imports   []string        // folders that it imports from
	Stop      <-chan struct{} // closed: the run is asked to stop; nil: it never is
	Now       func() time.Time
	Find      func(path string) string // where the file of a path in the configuration is
	LookupEnv func(string) (string, bool)
	Note      func(text string)               // tells the user, each text once; the text may be foreign
	Log       func(world string) func(l Line) // opens log/WORLD.log of the job; the lines never block for long
	Record    func(world string) func(v any)  // opens rollouts/WORLD.jsonl of the job, a value a line
	Folder    func(world string) string       // a folder of the job for the world's own files; "": there is no job
	Judges    func() (list []workflow.Judge, names []string)
	Player    func() (Player, error) // who plays environments that own their loop; nil: they are not played here
}

// Line is a line that a program printed or logged.
type Line struct {
	Text  string
	Level string // debug, warning or error; "" is information
	Task  string // of which task; "": not known
}

// Player is the model that plays an environment which calls the model itself. The world closes it, when nothing plays.
type Player struct {
	Name     string
	Params   tinker.SamplingParams
	Rollouts workflow.Rollouts      // opens a rollout for each episode
	URL      func() (string, error) // serves Rollouts
	Close    func() error           // ends that
}
