package run

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
)

// How many tasks run at a time depends on who computes, and on what the configuration says of it.
func TestRunners(t *testing.T) {
	lookup := func(string) (string, bool) { return "", false }
	raw, err := os.ReadFile("../examples/tiny/gsm8k.yaml")
	if err != nil {
		t.Fatal(err)
	}
	without := regexp.MustCompile(`(?m)^  runner_per_model: .*\n`).ReplaceAll(raw, nil)
	if len(without) == len(raw) {
		t.Fatal("the example does not have runner_per_model")
	}
	file := filepath.Join(t.TempDir(), "gsm8k.yaml")
	if err := os.WriteFile(file, without, 0o644); err != nil {
		t.Fatal(err)
	}
	local, server := config.Backend{Kind: config.Local}, config.Backend{Kind: config.Server}
	for _, c := range []struct {
		backend     config.Backend
		args        []string
		train, eval int
	}{
		{local, []string{"buffer.batch_size=4", "algorithm.repeat_times=8"}, 8, 64},
		{local, []string{"buffer.batch_size=96", "algorithm.repeat_times=2"}, 32, 64},
		{local, []string{"buffer.batch_size=96", "algorithm.repeat_times=16"}, 8, 128},
		{local, []string{"buffer.batch_size=96", "algorithm.repeat_times=2", "explorer.runner_per_model=3"}, 3, 6},
		{local, []string{"buffer.batch_size=96", "algorithm.repeat_times=2", "fleet.listen=127.0.0.1:0"}, 96, 256},
		{local, []string{"mode=bench", "buffer.batch_size=1", "algorithm.repeat_times=1",
			"explorer.concurrent_mode=asynchronous"}, 8, 64},
		{server, []string{"buffer.batch_size=4", "algorithm.repeat_times=8"}, 32, 400},
		{server, []string{"buffer.batch_size=96", "algorithm.repeat_times=8"}, 768, 6144},
	} {
		cfg, err := config.Load(file, c.args, lookup)
		if err != nil {
			t.Fatal(err)
		}
		if train, eval := runnersOf(cfg, c.backend), evalRunnersOf(cfg, c.backend); train != c.train || eval != c.eval {
			t.Errorf("%v on %v: %d tasks at a time and %d of an evaluation, want %d and %d", c.args, c.backend.Kind,
				train, eval, c.train, c.eval)
		}
	}
}
