package monitor

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/spell"
)

// Sink is one place beside metrics.jsonl that a role's metrics go to.
type Sink interface {
	// Write takes all metrics of a step, which follow those of the step before.
	Write(at time.Time, step int, m Metrics) error
	// Close ends the role's record; finished says that the run has come to its end.
	Close(finished bool) error
}

// OpenSink starts the record of a role.
type OpenSink func(c Config, role string) (Sink, error)

// newSink starts the record of a role with the type that the configuration names.
func (m *Monitor) newSink(role string) (Sink, error) {
	c := m.config
	if open, ok := c.Own[c.Type]; ok {
		return open(c, role)
	}
	switch c.Type {
	case "wandb":
		return openWandb(c, role)
	case "trackio":
		return openTrackio(c, role)
	case "mlflow":
		return openMLflow(c, role)
	}
	return newEventFile(filepath.Join(c.Dir, "monitor", "tensorboard", role), c.Now(), max(0, m.next))
}

// Idle names the keys of monitor_args that a type of monitor of this package does not read, each with what it may mean.
func Idle(monitorType string, args map[string]any) (notes []string) {
	known, ours := map[string][]string{
		"tensorboard": {},
		"wandb":       {"api_key", "base_url", "entity", "rollouts_per_step"},
		"mlflow":      {"uri", "username", "password", "rollouts_per_step"},
		"trackio":     {"dir", "rollouts_per_step"},
	}[monitorType]
	if !ours {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if slices.Contains(known, name) {
			continue
		}
		why := "tensorboard reads none"
		if len(known) > 0 {
			why = monitorType + " reads " + strings.Join(known, ", ") + spell.DidYouMean(name, known)
		}
		notes = append(notes, fmt.Sprintf("monitor.monitor_args.%s is not used: %s", name, why))
	}
	return notes
}

// text is a value of monitor_args, "" when it is not there.
func (c Config) text(key string) string {
	if v, ok := c.Args[key]; ok && v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

// env is a variable of the environment, "" when it is not set.
func (c Config) env(name string) string {
	if c.LookupEnv == nil {
		return ""
	}
	v, _ := c.LookupEnv(name)
	return v
}

// first is the first of some texts that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// jsonText is a value as JSON; what JSON cannot say (an infinity) becomes a text.
func jsonText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		raw, _ = json.Marshal(fmt.Sprint(v)) // a text always can
	}
	return string(raw)
}
