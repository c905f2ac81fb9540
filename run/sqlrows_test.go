package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
)

// tables is a copy of a database that Trinity-RFT's own models wrote, and the rows of one of its tables as a file.
func tables(t testing.TB, table, schema string) (url, file string) {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile("../loop/buffer/testdata/tables.db")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "tables.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	url = "sqlite:///" + path
	rows, err := buffer.OpenRows(t.Context(), url, table, schema, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var text strings.Builder
	for i := range rows.Count() {
		row, err := rows.Row(i)
		if err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	file = filepath.Join(dir, "rows.jsonl")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return url, file
}

// A taskset in a database gives what the same rows give from a file, to the bit; kills do not show. The evaluation
// reads one too.
func TestTasksInADatabase(t *testing.T) {
	t.Parallel()
	url, file := tables(t, "questions", "task")
	set := func(storage, path string) []string {
		one := "{name: questions, storage_type: " + storage + ", path: \"" + path + "\", default_workflow_type: " +
			"math_workflow, format: {prompt_key: question, response_key: answer, system_prompt: \"Think, then " +
			"answer.\"}}"
		return and(tiny, "buffer.explorer_input.taskset="+one, "buffer.explorer_input.eval_tasksets=["+one+"]")
	}
	want := runs(t, load(t, t.TempDir(), set("file", file)...), options())
	same(t, "in a database", runs(t, load(t, t.TempDir(), set("sql", url)...), options()), want)
	same(t, "unbroken", survivesKills(t, options(), 3, jobWith(set("sql", url)...)), want)
}

// The seven rows of the table are read once, whatever total_epochs and total_steps say: three steps of two.
func TestATableIsReadOnce(t *testing.T) {
	t.Parallel()
	unraced(t, "TestTasksInADatabase")
	url, _ := tables(t, "questions", "task")
	set := "buffer.explorer_input.taskset={name: questions, storage_type: sql, path: \"" + url +
		"\", default_workflow_type: math_workflow, format: {prompt_key: question, response_key: answer}}"
	for _, more := range [][]string{{"buffer.total_epochs=5", "buffer.total_steps=null"}, {"buffer.total_steps=9"}} {
		cfg := load(t, t.TempDir(), and(and(tiny, set, "trainer.total_steps=null"), more...)...)
		if lines := runs(t, cfg, options()); len(lines) != 3 || lines[2].Step != 3 {
			t.Errorf("with %v: %d steps, want 3", more, len(lines))
		}
		if notes := strings.Join(cfg.Notes(), "\n"); strings.Contains(notes,
			"the rows of a table are read once") != strings.HasPrefix(more[0], "buffer.total_epochs") {
			t.Errorf("with %v the notes are %s", more, notes)
		}
	}
	_, err := Run(t.Context(), load(t, t.TempDir(), and(tiny, set, "buffer.batch_size=8")...), options())
	if err == nil || !strings.Contains(err.Error(), "has 7 rows, less than one batch of 8") {
		t.Errorf("a table of less than a batch: %v", err)
	}
}

// Conversations and pairs in upstream's tables are learned from as from a file.
func TestExamplesInADatabase(t *testing.T) {
	t.Parallel()
	unraced(t, "TestTasksInADatabase")
	for _, tt := range []struct{ algorithm, table string }{{"sft", "solutions"}, {"dpo", "pairs"}} {
		url, file := tables(t, tt.table, tt.algorithm)
		args := func(storage, path string) []string {
			return []string{"buffer.train_batch_size=4", "buffer.total_steps=3", "trainer.total_steps=3",
				"model.tinker.rank=4",
				"buffer.trainer_input.experience_buffer={name: " + tt.table + ", storage_type: " + storage +
					", path: \"" + path + "\", format: {prompt_type: messages, messages_key: messages, chosen_key: " +
					"chosen, rejected_key: rejected}}"}
		}
		want := runs(t, example(t, t.TempDir(), tt.algorithm, args("file", file)...), options())
		if len(want) != 3 {
			t.Errorf("%s: %d steps from the file", tt.algorithm, len(want))
		}
		same(t, tt.algorithm, runs(t, example(t, t.TempDir(), tt.algorithm, args("sql", url)...), options()), want)
		if b, err := reckon(t.Context(), example(t, t.TempDir(), tt.algorithm, args("sql", url)...),
			options()); err != nil || b.Rows != 8 || b.Prompt < 20 {
			t.Errorf("%s: the estimate is %+v, %v", tt.algorithm, b, err)
		}
	}
}
