package monitor

import (
	"encoding/json"
	"fmt"
	"time"
)

// Sink is one place beside metrics.jsonl that a role's metrics go to.
type Sink interface {
	// Write takes all metrics of a step. Steps come in order.
	Write(at time.Time, step int, m Metrics) error
	// Close ends the role's record; finished says that the run has come to its end.
	Close(finished bool) error
}

// OpenSink starts the record of a role, or continues it after step c.Keep.
type OpenSink func(c Config, role string) (Sink, error)

// Text is a value of monitor_args, "" if it is not there.
func (c Config) Text(key string) string {
	if v, ok := c.Args[key]; ok && v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

// Env is a variable of the environment, "" if it is not set.
func (c Config) Env(name string) string {
	if c.LookupEnv == nil {
		return ""
	}
	v, _ := c.LookupEnv(name)
	return v
}

// JSON is a value as JSON. What JSON cannot express, such as an infinity, becomes a text.
func JSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		raw, _ = json.Marshal(fmt.Sprint(v)) // a text always can
	}
	return string(raw)
}
