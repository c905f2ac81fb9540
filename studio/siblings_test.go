package studio

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// configured notes the configuration of the shipped example in a job's folder, as trinity run does.
func configured(t *testing.T, root, dir string, overrides ...string) {
	t.Helper()
	nothing := func(string) (string, bool) { return "", false }
	overrides = append(overrides, "checkpoint_root_dir="+root, "name="+filepath.Base(dir))
	cfg, err := config.Load(filepath.Join("..", "examples", "tiny", "gsm8k.yaml"), overrides, nothing)
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

// A comparison names what somebody gave, not what follows from it or from a default.
func TestCompare(t *testing.T) {
	root := t.TempDir()
	configured(t, root, job(t, root, "one"))
	configured(t, root, job(t, root, "two"), "buffer.batch_size=8", "model.tinker.rank=8")
	_, server := opened(t, Options{Dirs: []string{root}})
	url := "/api/compare?x=1"
	for _, r := range get[struct{ Runs []Run }](t, server, "/api/runs", 200).Runs {
		url += "&run=" + r.ID
	}
	var keys []string
	for _, k := range get[struct{ Config []struct{ Key string } }](t, server, url, 200).Config {
		keys = append(keys, k.Key)
	}
	if want := []string{"buffer.batch_size", "model.tinker.rank"}; !slices.Equal(keys, want) {
		t.Errorf("the runs differ in %v, want %v", keys, want)
	}
}

// A run on examples shows its loss, and no lights of what it does not measure.
func TestLossOfExamples(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "project", "sft")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"run.json": "{}", "trainer_meta.json": `{"latest_iteration":2}`,
		"metrics.jsonl": `{"step":1,"actor/nll":2,"grad_norm":1}` + "\n" +
			`{"step":2,"actor/nll":1,"grad_norm":1}` + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, server := opened(t, Options{Dirs: []string{root}})
	got := get[struct {
		Reward, Loss [][2]float64
		Health       []Light
	}](t, server, "/api/runs/"+first(t, server), 200)
	if len(got.Reward) != 0 || !slices.Equal(got.Loss, [][2]float64{{1, 2}, {2, 1}}) {
		t.Errorf("reward %v, loss %v", got.Reward, got.Loss)
	}
	var names []string
	for _, l := range got.Health {
		names = append(names, l.Name)
	}
	if want := []string{"gradient norm", "progress"}; !slices.Equal(names, want) {
		t.Errorf("lights %v, want %v", names, want)
	}
}
