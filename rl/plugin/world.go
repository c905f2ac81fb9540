package plugin

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/pythonenv"
	"github.com/seed-d9ad8ee0/trinity/rl/outside"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// World is the user's Python: the parts of plug-in files, those that a configuration names by a dotted path such as
// my_package.workflow.Mine, and environments. It implements outside.World.
type World struct {
	Env           []string      // NAME=value, for its processes
	Processes     int           // as of python.Options
	Threads       int           // the same
	Memory        int64         // the same
	RewardTimeout time.Duration // as of Options
	Rewards       int           // the same

	set          *Set
	environments *pythonenv.Source
}

// Claims implements outside.World.
func (w *World) Claims(n outside.Named) bool {
	d := dotted(n)
	return len(n.Folders)+len(d.Workflows)+len(d.Rewards)+len(d.Operators) > 0 ||
		slices.ContainsFunc(n.Environments, pythonenv.Is)
}

// harbor is the one workflow of the package trinity of which this program has none in Go.
const harbor = "harbor_workflow"

func dotted(n outside.Named) Names {
	only := func(names []string) (list []string) {
		for _, name := range names {
			if (strings.Contains(name, ".") || name == harbor) && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
		return list
	}
	return Names{Workflows: only(n.Workflows), Rewards: only(n.Rewards), Operators: only(n.Operators)}
}

// Open implements outside.World. It starts Python and loads the files.
func (w *World) Open(ctx context.Context, n outside.Named, s outside.Site) (p outside.Parts, err error) {
	for _, dir := range n.Folders {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return p, fmt.Errorf("plugin: the plug-in folder %s is not there; name a folder with Python files in "+
				"--plugin-dir, TRINITY_PLUGIN_DIRS or plugin_dir", dir)
		}
	}
	write := s.Log("python")
	log := func(e python.Entry) { write(outside.Line{Text: e.Text, Level: e.Level, Task: e.Task}) }
	w.set, err = Open(ctx, Options{Dirs: n.Folders, Dotted: dotted(n), Find: s.Find, RewardTimeout: w.RewardTimeout,
		Rewards: w.Rewards, Python: python.Options{Executable: s.Python, Dirs: slices.Concat(n.Folders, s.Imports),
			Env: w.Env, Imports: []string{pythonenv.Module}, Processes: w.Processes, Threads: w.Threads,
			Memory: w.Memory, Log: log}})
	if err != nil {
		return p, err
	}
	for _, e := range w.set.Errors {
		s.Note("a plug-in file was not loaded: " + e.String())
	}
	w.environments = pythonenv.New(ctx, w.set.Host(), pythonenv.Options{Find: s.Find, Stop: s.Stop, Note: s.Note,
		Failed: func(err error) {
			log(python.Entry{Level: "error", Text: "an episode failed: " + err.Error()})
		}})
	p = outside.Parts{Workflows: w.set.WorkflowsOf(), Rewards: w.set.RewardFuncs(),
		Operators: w.set.OperatorsOf(s.Judges), Readers: map[string]outside.Reader{}, Failed: w.set.Failed(),
		Environments: map[string]env.Finder{pythonenv.Prefix: w.environments.Spec}}
	for name := range w.set.Readers {
		p.Readers[name] = func(ctx context.Context, section map[string]any) (*dataset.Source, error) {
			return w.set.Rows(ctx, name, section)
		}
	}
	return p, nil
}

// Close implements outside.World.
func (w *World) Close() error {
	if w.environments != nil {
		w.environments.Close()
	}
	if w.set == nil {
		return nil
	}
	return w.set.Close()
}
