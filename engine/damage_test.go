package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// After a flipped bit, a cut end or a missing file of a checkpoint, a load fails with an error that names the file or
// returns the saved numbers. VerifyCheckpoints finds what a load refuses.
func TestDamagedCheckpoints(t *testing.T) {
	if testing.Short() {
		t.Skip("for the race detector: TestContract loads checkpoints with the same goroutines")
	}
	models := map[string]Model{baseName: {Dir: writeShape(t, true, true,
		map[string]any{"vocab_size": vocab, "hidden_size": 8, "num_hidden_layers": 1,
			"num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 8, "intermediate_size": 8,
			"max_position_embeddings": context_}, 8)}}
	dir := t.TempDir()
	e := open(t, Options{Models: models, Dir: dir})
	c := create(t, e, 0, lora(2))
	train(t, c, 2, mixed...)
	if _, err := saveState(c, "x", false); err != nil {
		t.Fatal(err)
	}
	path := tinker.Path{ModelID: modelID("s", 0), Kind: tinker.KindState, Name: "x"}.String()
	after := func(e *Engine) ([][]float32, error) { // what the state computes, before and after one more step
		m, err := e.CreateModelFromState(testContext(t),
			tinker.CreateFromStateRequest{SessionID: "again", Path: path, Optimizer: true})
		if err != nil {
			return nil, err
		}
		first := logprobs(t, m, mixed[0])
		train(t, m, 1, mixed...)
		return append(first, logprobs(t, m, mixed[0])...), nil
	}
	want, err := after(open(t, Options{Models: models, Dir: dir}))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "s%3Atrain%3A0", "weights", "x")
	refused, equal := 0, 0
	for _, name := range []string{"trinity.json", "adapter_model.safetensors", "optimizer.safetensors"} {
		file := filepath.Join(folder, name)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stride := max(1, len(whole)/40)
		for at := 0; at < len(whole); at += stride {
			bad := slices.Clone(whole)
			bad[at] ^= 1 << (at % 8)
			for _, mutated := range [][]byte{bad, whole[:at]} {
				if err := os.WriteFile(file, mutated, 0o644); err != nil {
					t.Fatal(err)
				}
				fresh := open(t, Options{Models: models, Dir: dir})
				got, err := after(fresh)
				fresh.Close()
				_, damaged, verr := VerifyCheckpoints(dir)
				switch {
				case verr != nil:
					t.Fatal(verr)
				case err != nil && strings.Contains(err.Error(), name) && damaged != nil &&
					strings.Contains(damaged.Error(), name):
					refused++
				case err == nil && allSame(got, want):
					equal++
				default:
					t.Fatalf("%s mutated at byte %d of %d: %v (verify: %v)", name, at, len(whole), err, damaged)
				}
			}
		}
		if err := os.WriteFile(file, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d mutations: %d refused by name, %d with equal numbers", refused+equal, refused, equal)
	if refused == 0 || equal > refused/10 {
		t.Errorf("%d refused, %d equal", refused, equal)
	}
}
