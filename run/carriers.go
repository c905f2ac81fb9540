package run

import (
	"io"

	"github.com/seed-d9ad8ee0/trinity/rl/agent"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// openCarriers makes what starts programs that carry rollouts out, until the run is closed. What they print goes to
// log/agent.log in the folder of the job, and to also if it is not nil.
func (p *parts) openCarriers(also io.Writer) {
	if !p.cfg.StartsPrograms() {
		return
	}
	log := &pythonLog{who: "agent", also: also}
	log.open(p.folder.Path, "agent", p.cfg.Log.Level)
	agents := agent.New(agent.Options{Log: func(task, line string) {
		log.add(python.Entry{Task: task, Text: line})
	}})
	p.carriers = map[string]workflow.Carrier{"agent": agents}
	p.opened(func() error {
		err := agents.Close()
		log.close()
		return err
	})
}
