package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/sqlite"
	"github.com/seed-d9ad8ee0/trinity/internal/trxp"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// write writes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func find(t *testing.T, dir string) Run {
	t.Helper()
	runs, err := Find(t.Context(), dir)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	return runs[0]
}

func TestStates(t *testing.T) {
	here, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	meta := func(step int) string { return fmt.Sprintf(`{"latest_iteration":%d,"planned_steps":5}`, step) }
	for name, c := range map[string]struct {
		lock string
		step int
		want State
	}{
		"at work":            {fmt.Sprint(os.Getpid(), " ", here), 3, Running},
		"on another host":    {"1 elsewhere.example", 3, Running},
		"killed":             {"999999999 " + here, 3, Killed},
		"stopped":            {"", 3, Stopped},
		"done":               {"", 5, Finished},
		"done before a kill": {"999999999 " + here, 5, Killed},
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"run.json": "{}", "lock/trainer": c.lock, "trainer_meta.json": meta(c.step)})
		if l := find(t, dir).Look(); l.State != c.want || l.Why == "" || l.Step != c.step {
			t.Errorf("%s: %s (%s), want %s", name, l.State, l.Why, c.want)
		}
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"run.json": "not JSON", "trainer_meta.json": `{"latest_iteration":`})
	if l := find(t, dir).Look(); l.State != Unknown {
		t.Errorf("a folder with damaged files is %s", l.State)
	}
}

// The checkpoints of trinity gem are those in folders, with their steps; what a server keeps is none.
func TestGemCheckpoints(t *testing.T) {
	dir := t.TempDir()
	merged := filepath.Join(dir, "merged")
	write(t, dir, map[string]string{"gem_state.json": "{}", "merged/config.json": "{}",
		"tinker/checkpoints/r/weights/a/trinity.json": `{"step":3}`,
		"checkpoints.jsonl": `{"name":"000002","policy_iteration_step":2,"sampler_path":"tinker://r/w/2"}` + "\n" +
			fmt.Sprintf(`{"name":"000004","policy_iteration_step":4,"sampler_path":%q}`, merged) + "\n"})
	got := find(t, dir).Checkpoints()
	folder := filepath.Join(dir, "tinker", "checkpoints", "r", "weights", "a")
	want := []Checkpoint{{Name: "weights/a", Step: 3, Path: folder}, {Name: "000004", Step: 4, Path: merged}}
	if !slices.Equal(got, want) {
		t.Errorf("the checkpoints are %+v, want %+v", got, want)
	}
}

func TestFindThroughLink(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"real/p/a/run.json": "{}"})
	link := filepath.Join(dir, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Skip(err)
	}
	if got, want := find(t, link).Path(), filepath.Join(link, "p", "a"); got != want {
		t.Errorf("the run is at %s, want %s", got, want)
	}
}

func TestFindDepth(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"p/g/a/run.json": "{}", "p/b/run.json": "{}", "p/b/stage/run.json": "{}",
		".hidden/c/run.json": "{}", "1/2/3/4/5/6/run.json": "{}", "gem/x/gem_state.json": "{}", "gem/x/run.json": "{}"})
	runs, err := Find(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range runs {
		got = append(got, string(r.Kind())+" "+filepath.Base(r.Path()))
	}
	if want := "gem x,trinity b,trinity a"; strings.Join(got, ",") != want {
		t.Errorf("the runs are %v, want %s", got, want)
	}
}

func TestCookbook(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"metrics.jsonl":     `{"step":0,"env/all/reward/total":0.5}` + "\n",
		"config.json":       `{"model_name":"m","dataset_builder":{"batch_size":4}}`,
		"checkpoints.jsonl": `{"name":"000010","batch":10,"sampler_path":"tinker://r/sampler_weights/000010"}` + "\n",
		"iteration_000003/train_rollout_summaries.jsonl": `{"schema_version":1,"split":"train","iteration":3,` +
			`"group_idx":1,"traj_idx":2,"tags":["gsm8k"],"sampling_client_step":3,"total_reward":1.5,` +
			`"final_reward":1,` +
			`"trajectory_metrics":{"correct":1},"steps":[{"step_idx":0,"ob_len":20,"ac_len":7,"reward":0.5,` +
			`"metrics":{"format":1},"logs":{"answer":"42"}}],"final_ob_len":0}` + "\n",
	})
	r := find(t, dir)
	if l := r.Look(); r.Kind() != Cookbook || l.Model != "m" || l.State != Running {
		t.Errorf("%s is %+v", r.Kind(), l)
	}
	x := rollout.NewIndex(r.Rollouts())
	if err := x.Refresh(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	f := x.Table().Files[0]
	row := &f.Rows[0]
	if f.Step != 3 || row.Group != "1" || row.Repeat != 2 || row.Reward != 1.5 || row.Prompt != 20 ||
		row.Response != 7 {
		t.Errorf("the row is %+v", row)
	}
	open, err := r.Rollouts().Open(f.File)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	line, err := open.Read(row, row.Whole(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := rollout.Decode(line)
	if err != nil || rec.ModelVersion != 3 || !strings.Contains(rec.Response, "answer: 42") ||
		rec.Parts["format"] != 1 {
		t.Errorf("the record is %+v, %v", rec, err)
	}
	if c := r.Checkpoints(); len(c) != 1 || c[0].Step != 10 {
		t.Errorf("the checkpoints are %v", c)
	}
}

// tensors is an experience as Trinity-RFT's serialize_many writes it, with nothing but tensors.
func tensors() []byte {
	return trxp.Encode(trxp.Item{Tensors: map[string]trxp.Tensor{"tokens": trxp.Int32s([]int32{5, 6, 7, 8}),
		"logprobs": trxp.Floats([]float32{-0.5, -1})}})
}

// Both layouts of Trinity-RFT, written by its own code, show the same.
func TestBothLayouts(t *testing.T) {
	for _, version := range []string{"0.5.2", "0.6.0"} {
		folder := databases{dir: filepath.Join("..", "..", "loop", "buffer", "testdata"),
			file: "experiences-" + version + ".db", table: "experience_buffer"}
		x := rollout.NewIndex(folder)
		if err := x.Refresh(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		files := x.Table().Files
		if len(files) != 1 || len(files[0].Rows) != 2 || files[0].Bad != 0 {
			t.Fatalf("%s: the files are %+v", version, files)
		}
		row := &files[0].Rows[0]
		if row.Group != "3.7" || row.Reward != 1 || row.Prompt != 2 || row.Response != 2 || row.Version !=
			map[string]int32{"0.5.2": 2}[version] {
			t.Errorf("%s: the first row is %+v", version, row)
		}
	}
	examples := databases{dir: filepath.Join("..", "..", "loop", "buffer", "testdata"), file: "tables-0.6.0.db",
		table: "solutions"}
	x := rollout.NewIndex(examples)
	if err := x.Refresh(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if rows := x.Table().Files[0].Rows; len(rows) != 3 || rows[0].Prompt != 2 || rows[0].Response != 1 ||
		rows[0].Turns != 1 {
		t.Errorf("the examples of sft are %+v", rows)
	}
	none := databases{dir: filepath.Join("..", "..", "loop", "buffer", "testdata"), file: "tables.db", table: "none"}
	if _, err := none.open(rollout.File{Name: "tables.db"}); err == nil || !strings.Contains(err.Error(),
		`there is no table "none"; there are pairs, questions, solutions`) {
		t.Errorf("a table that is not there: %v", err)
	}
}

// testdata/upstream was written by Trinity-RFT's own code (upstream.py).
func TestPickled(t *testing.T) {
	one, two := twoRecords(t, databases{dir: filepath.Join("testdata", "upstream")})
	if len(one.PromptTokens) != 2 || len(one.Tokens) != 2 || len(two.Mask) != 3 || len(two.Tokens) != 3 {
		t.Errorf("the records have other tokens: %+v, %+v", one, two)
	}
}

// Lines of a file, written by Trinity-RFT's own code, have all but the tokens.
func TestExperienceLines(t *testing.T) {
	table := Table{File: filepath.Join("testdata", "upstream", "experiences.jsonl")}
	one, two := twoRecords(t, table.Rollouts())
	if one.PromptCount != 2 || one.ResponseCount != 2 || two.ResponseCount != 3 {
		t.Errorf("the records have other lengths: %+v, %+v", one, two)
	}
	if err := table.Check(); err != nil || table.Look().Name != "experiences.jsonl" {
		t.Errorf("%q: %v", table.Look().Name, err)
	}
}

// twoRecords reads and checks the two experiences of testdata/upstream.
func twoRecords(t *testing.T, folder rollout.Folder) (one, two *rollout.Record) {
	x := rollout.NewIndex(folder)
	if err := x.Refresh(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	file := x.Table().Files[0]
	if len(file.Rows) != 2 || file.Bad != 0 || file.Rows[0].Group != "3.7" || file.Rows[1].Group != "3.7" ||
		file.Rows[1].Repeat != 1 || file.Rows[1].ToolCalls != 1 || file.Rows[1].Turns != 2 ||
		file.Names[0] != "accuracy" {
		t.Fatalf("the rows are %+v", file.Rows)
	}
	open, err := folder.Open(file.File)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	var list []*rollout.Record
	for i := range file.Rows {
		line, err := open.Read(&file.Rows[i], file.Rows[i].Whole(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := rollout.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	one, two = list[0], list[1]
	if one.ID != "0/3.7/0/0/aaaaaa" || one.Prompt != "How many?" || one.Response != "seven" ||
		one.Metrics["accuracy"] != 1 || one.ModelVersion != 2 {
		t.Errorf("the first record is %+v", one)
	}
	if two.Truncated != "response_truncated" || len(two.Messages) != 4 || two.Prompt != "How many?" ||
		two.Response != "\nseven" || two.Messages[1].ToolCalls[0].Name != "add" || two.Messages[2].Role != "tool" {
		t.Errorf("the second record is %+v", two)
	}
	return one, two
}

func FuzzExperience(f *testing.F) {
	f.Add([]byte("TRXP\x01" + strings.Repeat("\x00", 40)))
	open, err := databases{dir: filepath.Join("testdata", "upstream")}.open(rollout.File{Name: "experiences.db"})
	if err != nil {
		f.Fatal(err)
	}
	var data []byte
	rows := open.db.QueryRow("SELECT experience_bytes FROM experience_buffer WHERE id = 2")
	if err := errors.Join(rows.Scan(&data), open.Close()); err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := rollout.Record{Metrics: map[string]float64{}}
		readExperience(&r, data)
		r.Trained(len(r.Tokens))
		if line, err := json.Marshal(r); err != nil || !json.Valid(line) {
			t.Errorf("the record is %s, %v", line, err)
		}
	})
}

func TestDatabase(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "experiences.db")
	db := sqlite.Open(path, nil)
	for _, statement := range []string{
		`CREATE TABLE debug_buffer (id INTEGER PRIMARY KEY, task_id TEXT, run_id INTEGER, model_version INTEGER,
			experience_bytes BLOB, reward REAL, consumed INTEGER)`,
		`INSERT INTO debug_buffer VALUES (1, 'debug/7', 2, 4, NULL, 0.25, 0)`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(`UPDATE debug_buffer SET experience_bytes = ?`, tensors()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r := find(t, dir)
	x := rollout.NewIndex(r.Rollouts())
	if err := x.Refresh(t.Context(), nil); err != nil || r.Kind() != Upstream {
		t.Fatal(r.Kind(), err)
	}
	f := x.Table().Files[0]
	if row := &f.Rows[0]; row.Group != "debug.7" || row.Reward != 0.25 || row.Prompt != 2 || row.Response != 2 ||
		row.Version != 4 {
		t.Errorf("the row is %+v", row)
	}
}

func TestServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-API-Key") != "tml-1":
			http.Error(w, "no key", http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/training_runs"):
			fmt.Fprint(w, `{"training_runs":[{"training_run_id":"run-1","base_model":"m","is_lora":true,"lora_rank":8,`+
				`"last_request_time":"2026-01-01T00:00:00Z"}]}`)
		case strings.HasSuffix(r.URL.Path, "/run-1/checkpoints"):
			fmt.Fprint(w, `{"checkpoints":[{"checkpoint_id":"weights/10","tinker_path":"tinker://run-1/weights/10"}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	runs, err := (&Tinker{URL: server.URL, Key: "tml-1"}).Find(context.Background())
	if err != nil || len(runs) != 2 {
		t.Fatal(len(runs), err)
	}
	if err := runs[1].(Live).Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := runs[1].Look(); l.Model != "m" || l.State != Stopped || len(runs[1].Checkpoints()) != 1 {
		t.Errorf("the run is %+v with checkpoints %v", l, runs[1].Checkpoints())
	}
	other, err := (&Tinker{URL: server.URL}).Find(context.Background())
	if err == nil || !strings.Contains(err.Error(), "401") || len(other) != 1 {
		t.Errorf("without the key there are %d runs: %v", len(other), err)
	}
	if err := other[0].(Live).Refresh(t.Context()); err == nil || other[0].Look().State != Unknown {
		t.Errorf("without the key the server is %+v: %v", other[0].Look(), err)
	}
}
