package source

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// testdata/cookbook was written by tinker-cookbook (cookbook.py). Two groups have summaries, the first a log tree too.
func TestLogTree(t *testing.T) {
	folder := summaries(filepath.Join("testdata", "cookbook"))
	x := rollout.NewIndex(folder)
	if err := x.Refresh(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	file := x.Table().Files[0]
	if len(file.Rows) != 8 || file.Bad != 0 {
		t.Fatalf("there are %d rows and %d bad lines", len(file.Rows), file.Bad)
	}
	open, err := folder.Open(file.File)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for i, want := range []string{"I add: it is 12.", "No idea", "<b>13</b>", "12", "", "", "", ""} {
		line, err := open.Read(&file.Rows[i], file.Rows[i].Whole(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := rollout.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		answer := ""
		for _, m := range r.Messages {
			if m.Role == "assistant" {
				answer = m.Content
			}
		}
		if answer != want || strings.TrimSpace(r.Response) != want {
			t.Errorf("answer %d is %q, response %q, want %q", i, answer, r.Response, want)
		}
		if want != "" && (r.Messages[0].Role != "note" || !strings.Contains(r.Prompt, "What is 5 and 7?") ||
			r.Grade == nil || r.Grade.Truth != "12") {
			t.Errorf("the record of answer %d is %s", i, line)
		}
		if i == 0 && r.Messages[2].Thinking != "plus?" {
			t.Errorf("the thinking is %q", r.Messages[2].Thinking)
		}
	}
	found := x.Table().Select(&rollout.Filter{})
	if file.Rows[0].Key != file.Rows[1].Key || file.Rows[0].Key == file.Rows[4].Key || len(found) != 8 {
		t.Error("samples of one task have several keys, or all have one")
	}
}

// A talk whose reward no other has is sure; one that no trajectory has is nobody's.
func TestAssign(t *testing.T) {
	g := loggedGroup{talks: []*talk{{table: map[string]string{"reward": "1.000"}},
		{table: map[string]string{"reward": "0.000"}}}}
	list := []summary{{Index: 0}, {Index: 1}}
	if err := json.Unmarshal([]byte(`[{"reward":0.5},{"reward":0.5}]`), &list[1].Steps); err != nil {
		t.Fatal(err)
	}
	found := map[[2]int]*talk{}
	if g.assign(list, found); found[[2]int{0, 0}] != g.talks[1] || found[[2]int{0, 1}] != g.talks[0] ||
		!g.talks[0].sure {
		t.Errorf("the talks are %v", found)
	}
	list[1].Steps[0].Reward = 0.25
	found = map[[2]int]*talk{}
	if g.assign(list, found); found[[2]int{0, 1}] != nil || found[[2]int{0, 0}] == nil {
		t.Errorf("with a reward that no talk has they are %v", found)
	}
}

func FuzzLogTree(f *testing.F) {
	tree, err := os.ReadFile(filepath.Join("testdata", "cookbook", "iteration_000002", "train_logtree.json"))
	if err != nil {
		f.Fatal(err)
	}
	lines, err := os.ReadFile(filepath.Join("testdata", "cookbook", "iteration_000002",
		"train_rollout_summaries.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tree, lines)
	f.Add([]byte(`{"root":{"children":["a",{"tag":"section","children":[{"tag":"h2",`+
		`"children":["Group Rollout"]},7]}]}}`), []byte(`{"group_idx":-1}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, tree, lines []byte) {
		path := filepath.Join(dir, "train_rollout_summaries.jsonl")
		for name, data := range map[string][]byte{path: lines, treePath(path): tree} {
			if err := os.WriteFile(name, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		convert := fromSummary(path)
		for line := range strings.Lines(string(lines)) {
			if record, err := convert([]byte(line)); err == nil && !json.Valid(record) {
				t.Errorf("a record is no JSON: %s", record)
			}
		}
	})
}
