package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// begunBefore makes the folder of a job that an older version began, with nothing trained yet.
func begunBefore(t *testing.T, cfg *config.Config) {
	t.Helper()
	id := jobdir.Draw(cfg, "trinity-5-blocked", time.Now())
	if id.Follows != "0.6.0" {
		t.Errorf("a new job follows %q", id.Follows)
	}
	id.Follows = ""
	data, err := disk.Seal(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cfg.JobDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cfg.JobDir(), "run.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("follows")) {
		t.Fatalf("run.json is %s", data)
	}
}

// A job that was begun when this program followed Trinity-RFT 0.5.2 keeps those rules, in every process that works on
// it; a new one follows 0.6.0.
func TestJobsKeepTheirRules(t *testing.T) {
	t.Parallel()
	const reward = tasksetKey + "default_workflow_type=simple_workflow " + tasksetKey +
		"default_reward_fn_type=math_dapo_reward"
	for _, tt := range []struct {
		name, overrides string
		holds           func(last map[string]float64, old bool) bool
	}{
		{"the preset of m2po", "algorithm.algorithm_type=m2po algorithm.policy_loss_fn_args=null " +
			"algorithm.advantage_fn_args=null algorithm.kl_loss_fn_args={kl_coef: 0.1}",
			func(last map[string]float64, old bool) bool {
				_, pulled := last["actor/kl_loss"]
				_, entropy := last["actor/entropy_loss"]
				return pulled == old && entropy == old
			}},
		{"math_dapo_reward", reward, func(last map[string]float64, old bool) bool {
			return (last["rollout/accuracy/min"] == 0) == old && (last["rollout/accuracy/min"] == -1) != old
		}},
	} {
		for _, old := range []bool{false, true} {
			cfg := load(t, t.TempDir(), append(tinyRun, split(tt.overrides)...)...)
			if old {
				begunBefore(t, cfg)
			}
			var out bytes.Buffer
			o := options()
			o.Out = &out
			sum, err := Run(t.Context(), cfg, o)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if told := strings.Contains(out.String(), "keeps its rules for m"); told != old {
				t.Errorf("%s, begun before %v: told %v of it:\n%s", tt.name, old, told, out.String())
			}
			lines := sum.Lines
			if last := lines[len(lines)-1].Metrics; !tt.holds(last, old) {
				t.Errorf("%s, begun before %v: %v", tt.name, old, last)
			}
		}
	}
}

// max_staleness counted from 1, and repeat_times of m2po was 2.
func TestOldJobsCountAsBefore(t *testing.T) {
	t.Parallel()
	limit := and(tiny, "algorithm.sample_strategy=staleness_control",
		"algorithm.sample_strategy_args={max_staleness: 1}", "synchronizer.sync_offset=1")
	runs(t, load(t, t.TempDir(), limit...), options())
	cfg := load(t, t.TempDir(), limit...)
	begunBefore(t, cfg)
	if _, err := Run(t.Context(), cfg, options()); err == nil || !strings.Contains(err.Error(), "up to 2 steps old") {
		t.Errorf("error %v, want that of 0.5.2", err)
	}
	cfg = config.Default()
	cfg.Algorithm.Type = "m2po"
	cfg.Derive()
	if cfg.Algorithm.RepeatTimes != 8 || cfg.Algorithm.KLLossFn != "none" {
		t.Errorf("m2po has repeat_times %d and KL %s, want 8 and none", cfg.Algorithm.RepeatTimes,
			cfg.Algorithm.KLLossFn)
	}
	if config.Follow052(cfg); cfg.Algorithm.RepeatTimes != 2 || cfg.Algorithm.KLLossFn != "k2" ||
		cfg.Algorithm.EntropyLossFn != "default" {
		t.Errorf("as in 0.5.2 m2po has %+v, want repeat_times 2, k2, default", cfg.Algorithm)
	}
}
