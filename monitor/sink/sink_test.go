package sink

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/mlflow"
)

func TestIdle(t *testing.T) {
	args := map[string]any{"urii": "x", "rollouts_per_step": 4}
	for monitorType, want := range map[string][]IdleArgument{
		"mlflow": {{"urii", "mlflow reads uri, username, password, rollouts_per_step", "; did you mean uri?"}},
		"tensorboard": {{"rollouts_per_step", "tensorboard reads none", ""},
			{"urii", "tensorboard reads none", ""}},
		"one of a program": nil,
	} {
		if got := Idle(monitorType, args); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", monitorType, got, want)
		}
	}
}

func TestOf(t *testing.T) {
	for _, known := range []string{"", "tensorboard", "wandb", "mlflow", "trackio", "own"} {
		open, err := Of(known, map[string]monitor.OpenSink{"own": mlflow.Open})
		if err != nil || open == nil {
			t.Errorf("%q: %v", known, err)
		}
	}
	want := `"comet" is not known; it is one of [mlflow tensorboard trackio wandb]`
	if _, err := Of("comet", nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an unknown type: %v, want %q", err, want)
	}
}
