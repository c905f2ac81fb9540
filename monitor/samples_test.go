package monitor

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// rolloutFile writes a step's records: n samples, the first one with tools and turns.
func rolloutFile(t *testing.T, dir string, step, n int) string {
	t.Helper()
	var text strings.Builder
	for i := range n {
		reward := float64(i) / 2
		r := rollout.Record{Version: rollout.Version, ID: fmt.Sprintf("%d/%d/0/0/x", step, i), Reward: &reward,
			Prompt: "<|im_start|>user\nhow many?<|im_end|>\n<|im_start|>assistant\n", Response: fmt.Sprint("<b>", i),
			Tokens: []int32{1, 2}, Grade: &rollout.Grade{Extracted: fmt.Sprint(i), Expected: "7"}}
		if i == 0 {
			r.Turns = 2
			r.Messages = []rollout.Message{{Role: "user", Content: "add"}, {Role: "assistant", Thinking: "hm",
				ToolCalls: []rollout.ToolCall{{Name: "sum", Arguments: json.RawMessage(`{"a":1}`)}}},
				{Role: "tool", Content: "7"}, {Role: "assistant", Content: "seven"}}
		}
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	path := filepath.Join(dir, fmt.Sprintf("step_%06d.jsonl", step))
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// recordSteps commits steps with samples, from a step on.
func recordSteps(t *testing.T, c Config, from, to int) {
	t.Helper()
	m, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	for step := from; step <= to; step++ {
		m.Add(step, "explorer", Metrics{"rollout/reward/mean": float64(step)})
		m.Add(step, "trainer", Metrics{"grad_norm": float64(step)})
		m.Samples(step, "explorer", rolloutFile(t, c.Dir, step, 40))
		if _, err := m.Commit(step); err != nil {
			t.Fatal(err)
		}
	}
	m.Finish()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTrackio(t *testing.T) {
	c := Config{Dir: t.TempDir(), Type: "trackio", Keep: -1, Project: "my project!", Name: "job", Group: "g",
		Roles: []string{"explorer", "trainer"}, Args: map[string]any{"rollouts_per_step": 4}}
	recordSteps(t, c, 1, 3)
	c.Keep = 2
	recordSteps(t, c, 3, 4) // step 3 again
	db := sql.OpenDB(sqliteFile{filepath.Join(TrackioDir(c.Dir), "myproject.db")})
	defer db.Close()
	const ordered = "FROM (SELECT * FROM metrics WHERE run_name = 'job_trainer' ORDER BY id)"
	for query, want := range map[string]string{
		"SELECT group_concat(step) " + ordered: "1,2,3,4",
		"SELECT group_concat(run_name) FROM (SELECT run_name FROM configs ORDER BY run_name)": "job_explorer," +
			"job_trainer",
		`SELECT count(*) FROM traces`:                                             "16",
		`SELECT count(DISTINCT json_extract(metadata, '$.id')) FROM traces`:       "16",
		`SELECT metrics FROM metrics WHERE step = 4 AND run_name = 'job_trainer'`: `{"grad_norm":4}`,
		`SELECT json_extract(messages, '$[1].tool_calls[0].function.arguments') FROM traces WHERE trace_index = 0
			AND step = 4`: `{"a":1}`,
		`SELECT json_array_length(messages) FROM traces WHERE trace_index = 0 AND step = 4`:            "4",
		`SELECT json_extract(messages, '$[1].content') FROM traces WHERE trace_index = 1 AND step = 4`: "<b>10",
		`SELECT json_array_length(messages) FROM traces WHERE trace_index = 1 AND step = 4`:            "2",
	} {
		var got string
		if err := db.QueryRow(query).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", query, got, err, want)
		}
	}
}

// A file that cannot be written any more is told of once, and the run goes on.
func TestTrackioFails(t *testing.T) {
	var told []string
	c := Config{Dir: t.TempDir(), Type: "trackio", Keep: -1, Project: "p", Name: "job", Roles: []string{"explorer"},
		Now: time.Now, Warn: func(text string) { told = append(told, text) }}
	s, err := openTrackio(c, "explorer")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("DROP TABLE metrics; DROP TABLE traces"); err != nil {
		t.Fatal(err)
	}
	for step := range 2 {
		if err := s.Samples(time.Now(), step, []*rollout.Record{{ID: "1/0/0/0/a"}}); err != nil {
			t.Error(err)
		}
		if err := s.Write(time.Now(), step, Metrics{"a": 1}); err != nil {
			t.Error(err)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "no such table") {
		t.Errorf("it was told: %q", told)
	}
	if err := s.Close(true); err != nil {
		t.Error(err)
	}
}

func TestWandbTable(t *testing.T) {
	c := Config{Dir: t.TempDir(), Type: "wandb", Keep: -1, Project: "p", Name: "job",
		Now: func() time.Time { return time.Unix(1e9, 0) }}
	recordSteps(t, c, 1, 2)
	names, err := filepath.Glob(filepath.Join(c.Dir, "monitor", "wandb", "explorer", "*", "*.wandb"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	steps, items := history(t, names[0])
	if fmt.Sprint(steps) != "[1 2]" {
		t.Errorf("the history has steps %v", steps)
	}
	var table struct {
		Type         string `json:"_type"`
		Path, SHA256 string
		NRows        int
	}
	if err := json.Unmarshal([]byte(items[1]["rollouts"]), &table); err != nil || table.Type != "table-file" ||
		table.NRows != samplesOfStep {
		t.Fatalf("the table is %+v, %v", table, err)
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(names[0]), "files", filepath.FromSlash(table.Path)))
	if err != nil {
		t.Fatal(err)
	}
	var content struct {
		Columns []string
		Data    [][]any
	}
	if err := json.Unmarshal(data, &content); err != nil || len(content.Data) != samplesOfStep ||
		content.Data[1][0] != "2/2/0/0/x" || content.Data[1][10] != "<b>2" {
		t.Errorf("the table's file is %s, %v", data, err)
	}
	files := 0
	for _, rec := range records(t, names[0]) {
		if f, ok := subfield(rec, recordFiles); ok {
			item, _ := subfield(f, filesItem)
			if name, _ := subfield(item, fileItemPath); string(name) == table.Path {
				files++
			}
		}
	}
	if files != 1 {
		t.Errorf("the table is named as a file %d times", files)
	}
}

// A run that is sent as it goes uploads each table before the line that names it.
func TestWandbTablesOnline(t *testing.T) {
	service := &wandbService{}
	server := httptest.NewServer(service)
	defer server.Close()
	c := wandbConfig(t.TempDir(), -1)
	c.Roles = []string{"explorer"}
	c.Args = map[string]any{"base_url": server.URL, "api_key": "the-key", "rollouts_per_step": 4}
	recordSteps(t, c, 1, 2)
	there, named, told := map[string]string{}, 0, 0
	for _, r := range service.requests {
		if text, ok := r["put"].(string); ok {
			if r["key"] == true {
				t.Error("the key went to a signed address")
			}
			there[strings.TrimPrefix(r["path"].(string), "/storage/")] = text
		}
		list, _ := r["uploaded"].([]any)
		told += len(list)
		files, _ := r["files"].(map[string]any)
		h, _ := files["wandb-history.jsonl"].(map[string]any)
		lines, _ := h["content"].([]any)
		for _, line := range lines {
			var of struct {
				Rollouts struct {
					Path string
					Rows int `json:"nrows"`
				}
			}
			if err := json.Unmarshal([]byte(line.(string)), &of); err != nil {
				t.Fatal(err)
			}
			if of.Rollouts.Path == "" {
				continue // of the trainer
			}
			var table struct{ Data [][]any }
			if err := json.Unmarshal([]byte(there[of.Rollouts.Path]), &table); err != nil || len(table.Data) != 4 ||
				of.Rollouts.Rows != 4 {
				t.Errorf("a line names %+v, which is %q (%v)", of.Rollouts, there[of.Rollouts.Path], err)
			}
			named++
		}
	}
	if len(there) != 2 || named != 2 || told != 2 {
		t.Errorf("%d tables, %d lines that name one, %d of them told", len(there), named, told)
	}
}

func TestSamplesLimit(t *testing.T) {
	for _, c := range []struct {
		arg  any
		want int
		bad  bool
	}{{nil, 16, false}, {0, 0, false}, {3, 3, false}, {uint64(5), 5, false}, {-1, 0, true}, {"many", 0, true},
		{1.5, 0, true}} {
		n, err := Config{Args: map[string]any{"rollouts_per_step": c.arg}}.sampleLimit()
		if n != c.want || (err != nil) != c.bad {
			t.Errorf("%v is %d, %v, want %d", c.arg, n, err, c.want)
		}
	}
}

// The samples that a sink gets are spread over the step's file. A line that is being written is not read.
func TestSomeOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "step.jsonl")
	text := ""
	for i := range 10 {
		text += fmt.Sprintf(`{"v":2,"id":"s%d","prompt":%q}`+"\n", i, strings.Repeat("long ", i<<18))
	}
	if err := os.WriteFile(path, []byte(text+`{"v":2,"id":"s1`), 0o644); err != nil {
		t.Fatal(err)
	}
	all := "s0 s1 s2 s3 s4 s5 s6 s7 s8 s9"
	for n, want := range map[int]string{3: "s0 s3 s6", 10: all, 99: all} {
		list, err := someOf(path, n)
		var ids []string
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != want {
			t.Errorf("%d of ten: %s %v, want %s", n, got, err, want)
		}
	}
}
