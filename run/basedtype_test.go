package run

import (
	"os"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
)

// A job on an int8 base samples what it trains, names the dtype in run.json, and does not continue on another.
func TestBaseDtype(t *testing.T) {
	dir := t.TempDir()
	run := func(overrides ...string) (string, error) {
		var w strings.Builder
		o := onEngine()
		o.Out = &w
		_, err := Run(t.Context(), load(t, dir, and(tiny, overrides...)...), o)
		return w.String(), err
	}
	if out, err := run("buffer.total_steps=1", "model.base_dtype=int8"); err != nil {
		t.Fatal(err, out)
	}
	for file, want := range map[string]string{"run.json": engine.NewNumerics() + "-int8",
		"metrics.jsonl": `"train/kl_sample_train_v1":0,`} {
		if text, err := os.ReadFile(onlyFile(t, dir, file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s is %.3000s, %v; want %s", file, text, err, want)
		}
	}
	if _, err := run("buffer.total_steps=2", "model.base_dtype=bf16"); err == nil ||
		!strings.Contains(err.Error(), "begun with base weights in int8") {
		t.Errorf("bf16: %v", err)
	}
	if out, err := run("buffer.total_steps=2"); err != nil {
		t.Error(err, out)
	}
}
