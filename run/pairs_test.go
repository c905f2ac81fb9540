package run

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
)

// example loads a configuration of examples/tiny/algorithms.
func example(t testing.TB, dir, name string, overrides ...string) *config.Config {
	t.Helper()
	cfg, err := config.Load("../examples/tiny/algorithms/"+name+".yaml", append([]string{"checkpoint_root_dir=" + dir},
		overrides...), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// DPO begins at log 2, since nothing differs from the reference yet, and comes to prefer what was chosen; the reference
// does not move.
func TestDPO(t *testing.T) {
	t.Parallel()
	unraced(t, "TestDPOSurvivesKills")
	args := []string{"buffer.train_batch_size=4", "buffer.total_steps=6", "trainer.total_steps=6",
		"trainer.save_interval=3", "algorithm.optimizer.lr=1e-3"}
	lines := runs(t, example(t, t.TempDir(), "dpo", args...), onEngine())
	first, last := lines[0].Metrics, lines[len(lines)-1].Metrics
	if got := first["actor/dpo_loss"]; math.Abs(got-math.Ln2) > 1e-6 {
		t.Errorf("the first loss is %v, want log 2: four pairs at the reference", got)
	}
	if last["actor/dpo_loss"] >= first["actor/dpo_loss"]-0.1 || last["actor/accuracy_mean"] < 0.75 {
		t.Errorf("after six steps: %v", last)
	}
	if c, r := last["actor/chosen_reward"], last["actor/rejected_reward"]; c <= r {
		t.Errorf("rewards of chosen and rejected are %v and %v", c, r)
	}
}

// Killed anywhere a run on pairs ends with the metrics of an unbroken one.
func TestDPOSurvivesKills(t *testing.T) {
	t.Parallel()
	args := []string{"buffer.train_batch_size=2", "buffer.total_steps=3", "trainer.total_steps=3",
		"trainer.save_interval=1", "model.tinker.rank=4"}
	survivesKills(t, options(), 6, jobOf(func(t testing.TB, dir string) *config.Config {
		return example(t, dir, "dpo", args...)
	}))
}

// Every configuration of the examples is valid, those of runs and those of trinity gem, which name an environment.
func TestExamplesLoad(t *testing.T) {
	t.Parallel()
	others := map[string]bool{"fleet/deployment.yaml": true, "openenv/openenv.yaml": true,
		"openenv/template.yaml": true,
		"plugin/plugin.yaml":    true} // for a program with parts of its own, which tests it
	loaded := 0
	err := filepath.WalkDir("../examples", func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), "../examples/")
		if err != nil || filepath.Ext(path) != ".yaml" || others[name] {
			return err
		}
		loaded++
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.Contains(raw, []byte("\nenv_id:")) {
			_, err = config.Load(path, nil, noEnv)
		} else if pairs, perr := gem.Pairs(raw); perr != nil {
			err = perr
		} else {
			c := gem.Default()
			err = c.SetAll(pairs)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return nil
	})
	if err != nil || loaded < 20 {
		t.Fatalf("%d files, %v", loaded, err)
	}
}
