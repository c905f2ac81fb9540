package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// Three steps with all of the program's parts: their measurements are in the metrics and in the monitor's file.
func TestTrain(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if err := train(&out, dir, "trainer.total_steps=3", "buffer.total_steps=6"); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	job := filepath.Join(dir, "trinity-plugin", "plugin")
	for name, keys := range map[string][]string{
		"explorer.csv":  {"rollout/brevity/mean", "experience_pipeline/repeated_count"},
		"trainer.csv":   {"critic/advantages/max"},
		"metrics.jsonl": {"rollout/brevity/mean", "critic/rewards/mean"},
	} {
		text, err := os.ReadFile(filepath.Join(job, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if !strings.Contains(string(text), key) {
				t.Errorf("%s does not have %s", name, key)
			}
		}
	}
}

// The program's selector starts with the last row.
func TestOrder(t *testing.T) {
	s, err := newBackwards(5, dataset.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Pick(3, 4); !slices.Equal(got, []int{1, 0, 4, 3}) {
		t.Errorf("Pick(3, 4) = %v", got)
	}
}

// Unknown names are reported as mistakes.
func TestUnknownNames(t *testing.T) {
	_, err := config.Load("plugin.yaml", []string{"algorithm.advantage_fn=runk"}, os.LookupEnv, plugins().Names())
	if err == nil || !strings.Contains(err.Error(), "did you mean rank?") {
		t.Errorf("a misspelt name gives %v", err)
	}
	_, err = config.Load("plugin.yaml", nil, os.LookupEnv, run.Plugins{}.Names())
	if err == nil || !strings.Contains(err.Error(), "algorithm.advantage_fn") {
		t.Errorf("without the program's names: %v", err)
	}
}
