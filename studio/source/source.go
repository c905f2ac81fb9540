// Package source finds runs in folders and reads what they wrote: jobs of trinity run and trinity gem, logs of
// tinker-cookbook, job folders of Trinity-RFT, and training runs on a Tinker server. It only reads.
package source

import (
	"context"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// State is a run's state as its files tell it.
type State string

// The states of a run.
const (
	Running  State = "running"
	Finished State = "finished"
	Stopped  State = "stopped" // before its end, and saved
	Killed   State = "killed"  // it ended without saying so
	Unknown  State = "unknown"
)

// Kind says which program a run is of.
type Kind string

// The kinds of runs.
const (
	Trinity  Kind = "trinity"
	Gem      Kind = "gem"
	Cookbook Kind = "cookbook"
	Upstream Kind = "upstream"
	Server   Kind = "server"
)

// Look is the content of a run's small files.
type Look struct {
	Name, Project, Group   string
	State                  State
	Why                    string
	Model, Algorithm, Mode string
	Steps                  int // planned; 0: not known
	Step                   int // committed; -1: not known
	Created, Updated       time.Time
}

// Setting is a key of a run's configuration.
type Setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"` // "" if the run did not note it
}

// Checkpoint is saved weights of a run.
type Checkpoint struct {
	Name string `json:"name"`
	Step int    `json:"step"`
	Path string `json:"path,omitempty"` // a folder, or an address on a server
}

// Run is a run that was found. Implementations are safe for concurrent use.
type Run interface {
	Path() string
	Kind() Kind
	Look() Look
	// Metrics is the log of metrics and the field with the step.
	Metrics() (path, key string)
	// Rollouts is where samples are; nil: nowhere.
	Rollouts() rollout.Folder
	// Settings is the configuration, in order of the keys.
	Settings() []Setting
	Checkpoints() []Checkpoint
	// Clock is when steps were done, as far as it is known.
	Clock() map[int]time.Time
}

// Live is a run that is not made of files: Refresh asks for its state.
type Live interface {
	Run
	Refresh(ctx context.Context) error
}
