package studio

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// Entropies that training noted are in tables, orders and samples, if they are of the weights that sampled.
func TestEntropies(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(job(t, root, "a"), "rollouts", "entropy")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lines := `{"id":"1/0/0/0/x","version":0,"entropy":0.5,"entropies":[0.25,0.75]}` + "\n" +
		`{"id":"1/0/1/0/x","version":0,"entropy":0.7,"entropies":[0.7]}` + "\n" +
		`{"id":"1/0/2/0/x","version":1,"entropy":0.9,"entropies":[0.9]}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "step_000001.jsonl"), []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	_, server := opened(t, Options{Dirs: []string{root}})
	run := "/api/runs/" + first(t, server)
	got := get[rows](t, server, run+"/samples?sort=-entropy", 200)
	if len(got.Samples) != 32 || got.Samples[0].Entropy == nil || *got.Samples[0].Entropy != 0.7 ||
		*got.Samples[1].Entropy != 0.5 || got.Samples[2].Entropy != nil {
		t.Errorf("the samples by entropy begin with %+v", got.Samples[:3])
	}
	s := get[Sample](t, server, run+"/samples/"+got.Samples[1].ID, 200)
	tokens := s.Tokens[s.PromptLen:]
	if s.Entropy == nil || *s.Entropy != 0.5 || tokens[0].Entropy == nil || *tokens[0].Entropy != 0.25 ||
		tokens[1].Entropy == nil || math.Abs(*tokens[1].Entropy-0.75) > 1e-6 || tokens[2].Entropy != nil {
		t.Errorf("the sample's entropy is %v, of its tokens %+v", s.Entropy, tokens[:3])
	}
}
