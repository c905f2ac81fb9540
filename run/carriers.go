package run

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/agent"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/verifiers"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// openCarriers makes what starts programs that carry rollouts out, until the run is closed. What they print goes to
// log/agent.log and log/verifiers.log in the folder of the job, and to also if it is not nil.
func (p *parts) openCarriers(also io.Writer) {
	if !p.cfg.StartsPrograms() {
		return
	}
	printed := func(name string) *pythonLog {
		log := &pythonLog{who: name, also: also}
		log.open(p.folder.Path, name, p.cfg.Log.Level)
		return log
	}
	said, served := printed("agent"), printed("verifiers")
	agents := agent.New(agent.Options{Folder: p.agentFolder(), Log: func(task, line string) {
		said.add(python.Entry{Task: task, Text: line})
	}})
	servers := verifiers.New(verifiers.Options{Executable: p.site.Python, Path: p.site.Imports,
		Log: func(line string) { served.add(python.Entry{Text: line}) }})
	p.carriers = map[string]workflow.Carrier{"agent": agents, "verifiers": servers}
	p.opened(func() error {
		err := errors.Join(agents.Close(), servers.Close())
		said.close()
		served.close()
		return err
	})
}

// agentFolder is where the agents of this explorer have their folders: below that of the job, so that the next start
// deletes what a killed one left.
func (p *parts) agentFolder() string {
	folder := p.folder.File("agent", disk.Name(p.cfg.Explorer.Name))
	if abs, err := filepath.Abs(folder); err == nil {
		return abs
	}
	return folder
}

// verifiersTasks reads the tasks of an environment of verifiers.
func (o Options) verifiersTasks(ctx context.Context, id string, args map[string]any) (*dataset.Source, error) {
	return o.tasksets.Rows(ctx, verifiers.Options{Executable: o.Python.Executable, Path: o.Python.Path}, id, args)
}
