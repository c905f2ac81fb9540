package verifiers

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// Prefix begins the ids of environments, env_id and path of a taskset: verifiers:ID, or verifiers:tcp://HOST:PORT for
// a server that runs already.
const Prefix = "verifiers:"

// Is reports whether an id is one of verifiers.
func Is(id string) bool { return strings.HasPrefix(id, Prefix) }

// args are the workflow_args of verifiers_workflow:
//
//	env_id       the environment (that of the taskset's path)
//	taskset      the section taskset of the environment's configuration, besides id
//	config       the other sections, such as {agent: {harness: {id: bash}, runtime: {type: docker}}}. Without it each
//	             agent has the runtime subprocess, and the harness null where the taskset brings none
//	dir          a folder whose packages can be imported, or several, as PATH has them
//	limit        the most tasks that are read (all)
//	workers      processes of the server (1)
//	concurrency  episodes at a time (32)
//	memory       MiB of each process (0: no limit)
//	timeout      seconds of an episode (600)
//	max_tokens   tokens that a rollout may sample (65,536)
//	max_calls    calls that a rollout may make (1000)
type args struct {
	settings
	limit       int
	concurrency int
	timeout     time.Duration
	limits      workflow.Limits
}

// settings are the settings of a server. Equal settings share one server.
type settings struct {
	ID      string         `json:"id"`
	Taskset map[string]any `json:"taskset"`
	Config  map[string]any `json:"config"`
	Dir     string         `json:"dir"`
	Workers int            `json:"workers"`
	Memory  int64          `json:"memory"`
}

// joins reports whether the server runs already.
func (s settings) joins() bool { return strings.HasPrefix(s.ID, "tcp://") }

// key names the settings.
func (s settings) key() string {
	data, err := json.Marshal(s)
	if err != nil { // never from a configuration
		return fmt.Sprint(s)
	}
	return string(data)
}

func readArgs(values map[string]any) (a args, err error) {
	given := arg.Read(values)
	id := given.Text("env_id", "")
	a.ID = strings.TrimPrefix(id, Prefix)
	a.Taskset, a.Config = object(given, "taskset"), object(given, "config")
	a.Dir, a.Workers = given.Text("dir", ""), given.Int("workers", 1, 1)
	a.limit, a.concurrency = given.Int("limit", 0, 1), given.Int("concurrency", 32, 1)
	a.Memory = int64(given.Int("memory", 0, 0)) << 20
	a.limits, a.timeout = workflow.ReadLimits(given)
	if err := given.Close(); err != nil {
		return a, err
	}
	if !Is(id) || a.ID == "" {
		return a, &arg.Error{Name: "env_id", Text: fmt.Sprintf("is %q; it must be verifiers:ID, or "+
			"verifiers:tcp://HOST:PORT for a server that runs already", id)}
	}
	return a, nil
}

func object(given *arg.Reader, name string) map[string]any {
	v, is := given.Any(name)
	if !is {
		return map[string]any{}
	}
	m, ok := v.(map[string]any)
	given.Require(ok, name, v, "a section with keys")
	return m
}
