package service

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// all-linear describes an adapter on all linear layers, whatever they are called in its model.
func TestCheckAdapter(t *testing.T) {
	testdata := filepath.Join("..", "..", "..", "engine", "internal", "model", "testdata")
	for _, tt := range []struct {
		adapter, base string
		targets       config.Strings
		want          string // part of the error
	}{
		{"gemma3-all", "gemma3", config.Strings{"all-linear"}, ""},
		{"phi4mini-all", "phi4mini", config.Strings{"all-linear"}, ""},
		{"lfm2-all", "lfm2", config.Strings{"all-linear"}, ""},
		{"lfm2-all", "lfm2", config.Strings{"w1", "w2", "w3", "in_proj", "out_proj", "q_proj", "k_proj", "v_proj"}, ""},
		{"lfm2-all", "lfm2", config.Strings{"q_proj", "v_proj"}, "less exclude_modules are q_proj, v_proj"},
		{"lfm2-all", "qwen3", config.Strings{"all-linear"}, "is on q_proj, k_proj, v_proj, in_proj"},
	} {
		a, err := engine.ReadAdapter(filepath.Join(testdata, "peft", tt.adapter))
		if err != nil {
			t.Fatal(err)
		}
		cfg := &config.Config{}
		cfg.Model.LoRAConfigs = []config.LoRAConfig{{LoRARank: a.Rank, LoRAAlpha: a.Alpha, TargetModules: tt.targets}}
		m := &job.Model{Name: tt.base, Dir: filepath.Join(testdata, "families", tt.base)}
		err = CheckAdapter(a, cfg, m)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s on %s, %v: %v, want %q", tt.adapter, tt.base, tt.targets, err, tt.want)
		}
	}
}
