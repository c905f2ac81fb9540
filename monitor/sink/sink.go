// Package sink lists the services that metrics go to beside metrics.jsonl.
package sink

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/spell"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/mlflow"
	"github.com/seed-d9ad8ee0/trinity/monitor/tensorboard"
	"github.com/seed-d9ad8ee0/trinity/monitor/trackio"
	"github.com/seed-d9ad8ee0/trinity/monitor/wandb"
)

// service is a monitor.monitor_type.
type service struct {
	open monitor.OpenSink
	args []string // of monitor_args that it reads
}

func services() map[string]service {
	return map[string]service{
		"tensorboard": {tensorboard.Open, nil},
		"wandb":       {wandb.Open, []string{"api_key", "base_url", "entity", "rollouts_per_step"}},
		"mlflow":      {mlflow.Open, []string{"uri", "username", "password", "rollouts_per_step"}},
		"trackio":     {trackio.Open, []string{"dir", "rollouts_per_step"}},
	}
}

// Of returns how to open a monitor_type: one of own, which a program brings, or a service; "" is tensorboard.
func Of(monitorType string, own map[string]monitor.OpenSink) (monitor.OpenSink, error) {
	if open, ok := own[monitorType]; ok {
		return open, nil
	}
	all := services()
	s, ok := all[cmp.Or(monitorType, "tensorboard")]
	if !ok {
		return nil, fmt.Errorf("monitor: monitor_type %q is not known; it is one of %v", monitorType,
			slices.Sorted(maps.Keys(all)))
	}
	return s.open, nil
}

// Service returns how to open a service of this package.
func Service(name string) monitor.OpenSink { return services()[name].open }

// Hint is a line that tells how to show what a service that needs no server keeps in a job's folder; "" for others.
func Hint(monitorType string, args map[string]any, job string) string {
	switch {
	case monitorType == "wandb":
		return fmt.Sprintf("wandb    kept offline; send it with: wandb sync %s\n",
			filepath.Join(job, "monitor", "wandb", "*", "offline-run-*"))
	case monitorType == "trackio" && args["dir"] == nil:
		return fmt.Sprintf("trackio  show it with: TRACKIO_DIR=%s trackio show\n", trackio.Dir(job))
	}
	return ""
}

// IdleArgument is a key of monitor_args that a service does not read.
type IdleArgument struct {
	Name string
	Why  string // what the service reads
	Near string // "; did you mean uri?", or empty
}

// Idle lists the keys of monitor_args that a service does not read.
func Idle(monitorType string, args map[string]any) (list []IdleArgument) {
	s, ours := services()[monitorType]
	if !ours {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if slices.Contains(s.args, name) {
			continue
		}
		why := monitorType + " reads none"
		if len(s.args) > 0 {
			why = monitorType + " reads " + strings.Join(s.args, ", ")
		}
		list = append(list, IdleArgument{name, why, spell.DidYouMean(name, s.args)})
	}
	return list
}
