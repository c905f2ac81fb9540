package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/process"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// args are the workflow_args of agent_workflow:
//
//	command      the program and its arguments, a list
//	dir          the folder that it runs in (the current one)
//	env          further variables
//	timeout      seconds that it may run (600)
//	concurrency  programs at a time (32)
//	memory       MiB of each process of the program (0: no limit)
//	max_tokens   tokens that a rollout may sample (65,536)
//	max_calls    calls that a rollout may make (1000)
type args struct {
	command     []string
	dir         string
	env         []string
	timeout     time.Duration
	concurrency int
	memory      int64
	limits      workflow.Limits
}

const mostAtOnce = 32

func readArgs(values map[string]any) (a args, err error) {
	given := arg.Read(values)
	a.command, a.dir = given.Texts("command"), given.Text("dir", "")
	a.limits, a.timeout = workflow.ReadLimits(given)
	a.concurrency = given.Int("concurrency", mostAtOnce, 1)
	a.memory = int64(given.Int("memory", 0, 0)) << 20
	a.readEnv(given)
	if err := given.Close(); err != nil {
		return a, err
	}
	if len(a.command) == 0 || a.command[0] == "" {
		return a, &arg.Error{Name: "command", Text: "is missing; give the program and its arguments, such as " +
			"[python3, agent.py]"}
	}
	if _, err := process.Find(a.command[0], a.dir); err != nil {
		return a, &arg.Error{Name: "command", Text: fmt.Sprintf("cannot be run: %v", err)}
	}
	return a, nil
}

// readEnv reads the further variables. The variables that describe the rollout cannot be set.
func (a *args) readEnv(given *arg.Reader) {
	v, is := given.Any("env")
	if !is {
		return
	}
	values, ok := v.(map[string]any)
	given.Require(ok, "env", v, "variables and their values")
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text := fmt.Sprint(values[name])
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(text, "\x00") {
			given.Wrong("env", name, "names of variables")
			return
		}
		a.env = append(a.env, name+"="+text)
	}
}
