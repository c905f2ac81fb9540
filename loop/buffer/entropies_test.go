package buffer

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

func TestEntropies(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rollouts")
	r := Rollouts{FS: disk.OS(), Dir: dir}
	list := []*experience.Experience{
		{EID: experience.EID{Batch: "3", Task: "7", Run: 1, Suffix: "a"}, Tokens: []int32{1, 2, 3, 4}, PromptLength: 1,
			ActionMask: []bool{true, false, true}},
		{EID: experience.EID{Batch: "of a file", Task: "7"}, ActionMask: []bool{true}},
		{EID: experience.EID{Batch: "3", Task: "8"}, ActionMask: []bool{true}},
	}
	r.Entropies(0, list, [][]float32{{1, 1, 1}, {1}, {1}})
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder without records was made")
	}
	if err := r.Write(3, list[:1]); err != nil {
		t.Fatal(err)
	}
	r.Entropies(1, list, [][]float32{{9, 9, 9}, {1}, nil})
	r.Entropies(2, list, [][]float32{{0.123456, 5, 1}, {1}, nil}) // a step that is repeated
	files, err := rollout.Dir(dir).Files()
	if err != nil || len(files) != 1 {
		t.Fatalf("the records have %d files: %v", len(files), err)
	}
	path := filepath.Join(dir, rollout.Entropies, files[0].Name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, `{"id":"3/7/1/0/a","version":9,"ent`...), 0o644); err != nil { // torn
		t.Fatal(err)
	}
	got, err := rollout.Dir(dir).Entropies(t.Context(), files[0])
	if err != nil || len(got) != 1 {
		t.Fatalf("%d samples have entropies: %v", len(got), err)
	}
	one := got[rollout.EntropyKey{Group: "7", Repeat: 1}]
	if one.Version != 2 || math.Abs(one.Mean-0.561728) > 1e-6 {
		t.Errorf("the sample has %+v", one)
	}
	each, err := rollout.Dir(dir).EachEntropy(files[0], one)
	if err != nil || len(each) != 3 || each[0] != 0.1235 || each[1] != 0 || each[2] != 1 {
		t.Errorf("its tokens have %v: %v", each, err)
	}
}

// Samples that are not trained on stand behind the others, marked.
func TestDropped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rollouts")
	one := &experience.Experience{EID: experience.EID{Batch: "1", Task: "0"}, Tokens: []int32{1}, PromptLength: 1}
	two := &experience.Experience{EID: experience.EID{Batch: "1", Task: "1"}, Tokens: []int32{1}, PromptLength: 1}
	if err := (Rollouts{FS: disk.OS(), Dir: dir}).Write(1, []*experience.Experience{two}, one); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "step_000001.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	for i, dropped := range []bool{false, true} {
		if r, err := rollout.Decode(lines[i]); err != nil || r.Dropped != dropped || r.Task != []string{"1", "0"}[i] {
			t.Errorf("line %d is %+v: %v", i, r, err)
		}
	}
}

// letters is a tokenizer whose tokens are the letters a, b, c, …
type letters struct{}

func (letters) Bytes(id int32) []byte { return []byte{'a' + byte(id)} }
func (letters) Token(int32) string    { return "" }
func (letters) IsSpecial(int32) bool  { return false }

// The texts of the tokens in a file stand beside it, for readers without the model.
func TestTexts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rollouts")
	r := Rollouts{FS: disk.OS(), Dir: dir, Tokenizer: letters{}}
	list := []*experience.Experience{{EID: experience.EID{Batch: "3", Task: "7"}, Tokens: []int32{1, 3, 1},
		PromptLength: 1}}
	dropped := &experience.Experience{EID: experience.EID{Batch: "3", Task: "8"}, Tokens: []int32{0}}
	if err := r.Write(3, list, dropped); err != nil {
		t.Fatal(err)
	}
	texts, err := rollout.Dir(dir).Texts(t.Context(), rollout.File{Name: "step_000003.jsonl"})
	if err != nil || len(texts) != 3 || texts[0].Text != "a" || texts[1].Text != "b" || texts[3].Text != "d" {
		t.Errorf("the texts are %v, %v", texts, err)
	}
}
