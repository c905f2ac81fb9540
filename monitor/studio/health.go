package studio

import (
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/studio/curve"
)

// Light is one thing to look at, and how it stands.
type Light struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ok, warn, bad or unknown
	Reason string `json:"reason"`
}

func health(e *entry, log *curve.Log, now time.Time) []Light { return []Light{} }
