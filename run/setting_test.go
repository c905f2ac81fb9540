package run

import (
	"testing"

	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// An evaluation beside a job leaves what is noted of the trained run.
func TestBenchKeepsTheSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := and(tiny, few)
	cfg := load(t, dir, args...)
	runs(t, cfg, options())
	noted := func() any { return source.NotedSettings(cfg.JobDir())["mode"].Value }
	if noted() != "both" {
		t.Fatalf("the run noted mode %v", noted())
	}
	runs(t, load(t, dir, and(args, "mode=bench")...), options())
	if noted() != "both" {
		t.Errorf("after mode bench the trained run has mode %v", noted())
	}
}
