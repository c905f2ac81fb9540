package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/game"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv"
	environments "github.com/seed-d9ad8ee0/trinity/rl/env/python"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/verifiers"
)

// Environments are those that a command plays: native ones, those in Python, those on OpenEnv servers and those of
// verifiers. Close it.
type Environments struct {
	*env.Registry
	source  *environments.Source
	host    *python.Host
	log     *pythonLog
	servers *servers
	carried *carriedEnvs
}

// OpenEnvironments returns all native environments, with the data of the folder data, and starts Python if one of ids
// is in Python. What is on OpenEnv servers is looked up when it is asked for.
func OpenEnvironments(ctx context.Context, o Options, data string, ids ...string) (*Environments, error) {
	o = o.withDefaults()
	registry, err := game.Registry(data)
	if err != nil {
		return nil, err
	}
	e := &Environments{Registry: registry, log: &pythonLog{}}
	if e.servers = o.withServers(ctx, ids...).servers; e.servers != nil {
		registry = registry.With(openenv.Prefix, e.servers.source.Spec)
		e.Registry = registry
	}
	if e.carried = o.withCarried(ctx, ids...); e.carried != nil {
		registry = registry.With(verifiers.Prefix, e.carried.Spec)
		e.Registry = registry
	}
	if !slices.ContainsFunc(ids, environments.Is) {
		return e, nil
	}
	e.host, err = python.Open(ctx, python.Options{Executable: o.Python.Executable, Dirs: o.Python.Path,
		Imports: []string{environments.Module}, Processes: gemProcesses, Log: e.log.add})
	if err != nil {
		return nil, errors.Join(err, e.servers.Close(), e.carried.Close())
	}
	e.source = o.environmentsOn(ctx, e.host, e.log)
	e.Registry = registry.With(environments.Prefix, e.source.Spec)
	return e, nil
}

// gemProcesses is how many processes play the episodes of trinity gem.
const gemProcesses = 2

// Close ends sessions and processes.
func (e *Environments) Close() error {
	err := errors.Join(e.servers.Close(), e.carried.Close())
	if e.host == nil {
		return err
	}
	e.source.Close()
	err = errors.Join(err, e.host.Close())
	e.log.close()
	return err
}

// logTo writes what Python prints to log/python.log in a folder, and what is on servers to files of its own.
func (e *Environments) logTo(dir string) {
	e.servers.keepIn(dir, "info")
	if e.carried != nil {
		e.carried.log.open(dir, "verifiers", "info")
	}
	if e.host != nil {
		(&plugins{log: e.log}).logTo(dir, "info")
	}
}

// environmentsOn makes environments on a host. What is found out of them is told in a line; failed episodes are logged
// with their tracebacks.
func (o Options) environmentsOn(ctx context.Context, h *python.Host, log *pythonLog) *environments.Source {
	return environments.New(ctx, h, environments.Options{Find: o.Find, Stop: o.Stop,
		Note: func(text string) { fmt.Fprintln(o.Out, "note:", foreign.Text(text)) },
		Failed: func(err error) {
			log.add(python.Entry{Level: "error", Text: "an episode failed: " + err.Error()})
		}})
}

// playsPython reports whether a taskset of a configuration plays an environment in Python.
func playsPython(cfg *config.Config) bool {
	return slices.ContainsFunc(playedIDs(cfg), environments.Is)
}
