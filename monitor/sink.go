package monitor

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"
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
