package studio

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor/studio/source"
)

// configured notes the configuration of the shipped example in a job's folder, as trinity run does.
func configured(t *testing.T, root, dir string, overrides ...string) {
	t.Helper()
	nothing := func(string) (string, bool) { return "", false }
	overrides = append(overrides, "checkpoint_root_dir="+root, "name="+filepath.Base(dir))
	cfg, err := config.Load(filepath.Join("..", "..", "examples", "tiny", "gsm8k.yaml"), overrides, nothing)
	if err != nil {
		t.Fatal(err)
	}
	var list []source.Setting
	for _, v := range cfg.Values() {
		list = append(list, source.Setting{Key: v.Key, Value: v.Value, Origin: v.Origin.String()})
	}
	if err := source.NoteSettings(dir, list); err != nil {
		t.Fatal(err)
	}
}

// Runs of the shipped example with several seeds are siblings, which the band over seeds is drawn of; one with another
// learning rate is not.
func TestSiblings(t *testing.T) {
	root := t.TempDir()
	for name, overrides := range map[string][]string{"one": {"seed=1"}, "two": {"seed=2"},
		"three": {"model.tinker.seed=3"}, "faster": {"seed=4", "algorithm.optimizer.lr=1"}} {
		configured(t, root, job(t, root, name), overrides...)
	}
	_, server := opened(t, Options{Dirs: []string{root}})
	ids := map[string]string{}
	for _, r := range get[struct{ Runs []Run }](t, server, "/api/runs", 200).Runs {
		ids[filepath.Base(r.Path)] = r.ID
	}
	got := get[struct{ Siblings []string }](t, server, "/api/runs/"+ids["one"], 200).Siblings
	want := []string{ids["two"], ids["three"]}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the siblings are %v, want %v", got, want)
	}
	if got := get[struct{ Siblings []string }](t, server, "/api/runs/"+ids["faster"], 200).Siblings; len(got) != 0 {
		t.Errorf("a run with another learning rate has siblings %v", got)
	}
}
