package studio

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

// Two hundred runs are listed, each with an id of its own and its summary.
func TestManyRuns(t *testing.T) {
	root := t.TempDir()
	const n = 200
	for i := range n {
		dir := filepath.Join(root, "project", fmt.Sprintf("group%d", i%7), "run", fmt.Sprint(i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"run.json": `{}`,
			"metrics.jsonl": fmt.Sprintf(`{"step":3,"critic/rewards/mean":%d}`+"\n", i)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, server := opened(t, Options{Dirs: []string{root}})
	var work errgroup.Group
	work.SetLimit(4)
	s.runs.look(t.Context(), &work)
	if err := work.Wait(); err != nil {
		t.Fatal(err)
	}
	list := get[struct{ Runs []Run }](t, server, "/api/runs", 200).Runs
	ids := map[string]bool{}
	for _, r := range list {
		ids[r.ID] = true
		if len(r.Reward) != 1 || r.Step != 3 || fmt.Sprint(r.Reward[0][1]) != r.Name {
			t.Errorf("run %s has step %d and reward %v", r.Name, r.Step, r.Reward)
		}
	}
	if len(list) != n || len(ids) != n {
		t.Errorf("there are %d runs with %d ids, want %d", len(list), len(ids), n)
	}
}

// A rollout of 100,000 tokens is read in parts, searched and shown in a table without being sent whole.
func TestLongRollout(t *testing.T) {
	const n = 100_000
	root := t.TempDir()
	dir := job(t, root, "a")
	tokens, logprobs := make([]int32, n), make([]float32, n)
	for i := range tokens {
		tokens[i], logprobs[i] = int32(i%50), -float32(i)/n
	}
	record := map[string]any{"v": 2, "id": "9/0/0/0/a", "task": "0", "prompt": "long?",
		"response": strings.Repeat("word ", n) + "end", "reward": 1, "tokens": tokens, "logprobs": logprobs}
	line, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rollouts", "step_000009.jsonl"), append(line, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	_, server := opened(t, Options{Dirs: []string{root}})
	run := "/api/runs/" + first(t, server)
	row := get[rows](t, server, run+"/samples?step=9&q=word+end", 200)
	if len(row.Samples) != 1 || row.Samples[0].ResponseTokens != n || len(row.Samples[0].Head) != headLength {
		t.Fatalf("the table has %+v", row)
	}
	s := get[Sample](t, server, run+"/samples/step_000009.0", 200)
	if len(s.Tokens) != tokensAtOnce || s.TokenCount != n {
		t.Errorf("%d of %d tokens are sent at once, want %d of %d", len(s.Tokens), s.TokenCount, tokensAtOnce, n)
	}
	last := get[Sample](t, server, run+"/samples/step_000009.0?from=99990&count=50", 200).Tokens
	if len(last) != 10 || last[9].ID != (n-1)%50 || *last[9].Logprob > -0.9999 {
		t.Errorf("the last tokens are %+v", last)
	}
}

// Files that are replaced, cut, deleted or half written while a studio looks at them give what is there, or an error
// that says so.
func TestFilesChange(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(job(t, root, "a"), "rollouts")
	_, server := opened(t, Options{Dirs: []string{root}})
	run := "/api/runs/" + first(t, server)
	one, two := filepath.Join(dir, "step_000001.jsonl"), filepath.Join(dir, "step_000002.jsonl")
	count := func(query string, want int) {
		t.Helper()
		if got := get[rows](t, server, run+"/samples?"+query, 200); len(got.Samples) != want {
			t.Errorf("samples?%s are %d, want %d", query, len(got.Samples), want)
		}
	}
	count("step=1", 16)
	data, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	half := len(lines[5]) / 2
	write(one, strings.Join(lines[:5], "")+lines[5][:half]) // a run writes the sixth line
	count("step=1", 5)
	write(one, strings.Join(lines[:6], ""))
	count("step=1", 6)
	count("step=1&q=think", 6)
	write(one, lines[15]+lines[0]) // a resumed run writes the step again
	count("step=1", 2)
	s := get[Sample](t, server, run+"/samples/step_000001.1", 200)
	if !strings.Contains(lines[0], s.Messages[1].Content[:20]) {
		t.Errorf("the second sample is %+v", s.Row)
	}
	get[map[string]any](t, server, run+"/samples/step_000001.7", 404)
	if err := os.Remove(two); err != nil {
		t.Fatal(err)
	}
	count("step=2", 0)
	get[map[string]any](t, server, run+"/samples/step_000002.0", 404)
	get[map[string]any](t, server, run+"/groups/2/0", 404)
	if err := os.RemoveAll(filepath.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	count("", 0)
	get[map[string]any](t, server, run, 200)
}
