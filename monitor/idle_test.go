package monitor

import (
	"slices"
	"testing"
)

func TestIdle(t *testing.T) {
	args := map[string]any{"urii": "x", "rollouts_per_step": 4}
	for monitorType, want := range map[string][]string{
		"mlflow": {"monitor.monitor_args.urii is not used: mlflow reads uri, username, password, rollouts_per_step; " +
			"did you mean uri?"},
		"tensorboard": {"monitor.monitor_args.rollouts_per_step is not used: tensorboard reads none",
			"monitor.monitor_args.urii is not used: tensorboard reads none"},
		"one of a program": nil,
	} {
		if got := Idle(monitorType, args); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", monitorType, got, want)
		}
	}
}
