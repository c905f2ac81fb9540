package buffer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

// upstreams are tables that Trinity-RFT's own models wrote (testdata/tables.py; experiences.py makes those of 0.6.0).
const upstreams = "sqlite:///testdata/tables.db"

func openRows(t *testing.T, address, name, schema string) *Rows {
	t.Helper()
	r, err := OpenRows(t.Context(), address, name, schema, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func rowText(t *testing.T, r *Rows, i int) string {
	t.Helper()
	row, err := r.Row(i)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadsUpstreamsTables(t *testing.T) {
	for _, tt := range []struct {
		name, schema string
		n            int
		columns      string
		has          []string
	}{
		{"questions", "task", 7, "question answer", []string{`"question":"Gina has 2 nuts`, `#### 14"`}},
		{"solutions", "sft", 8, "messages",
			[]string{`{"messages":[{"role":"system","content":"Think, then answer."},{"role":"user",` +
				`"content":"There are 20 pears`, `{"role":"assistant","content":"\u003cthink`}},
		{"pairs", "dpo", 8, "messages chosen rejected", []string{`"chosen":[{"role":"assistant"`,
			`"rejected":[{"role":"assistant"`}},
	} {
		for address, n := range map[string]int{upstreams: tt.n, "sqlite:///testdata/tables-0.6.0.db": 3} {
			r := openRows(t, address, tt.name, tt.schema)
			if r.Count() != n {
				t.Errorf("%s has %d rows, want %d", tt.name, r.Count(), n)
			}
			row, err := r.Row(0)
			if err != nil || strings.Join(row.Columns(), " ") != tt.columns {
				t.Errorf("%s: columns %v, %v, want %s", tt.name, row.Columns(), err, tt.columns)
			}
			for _, want := range tt.has {
				if got := rowText(t, r, 0); !strings.Contains(got, want) {
					t.Errorf("%s: row 0 is %s, want %s in it", tt.name, got, want)
				}
			}
		}
	}
}

// taskTable makes a table of tasks as upstream's model has it.
func taskTable(t *testing.T, address, name string, ids ...int) *database {
	t.Helper()
	db, err := openDatabase(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec(`CREATE TABLE ` + quoted(name) +
		` (id INTEGER NOT NULL PRIMARY KEY, raw_task JSON NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	addTasks(t, db, name, ids...)
	return db
}

func addTasks(t *testing.T, db *database, name string, ids ...int) {
	t.Helper()
	for _, id := range ids {
		if _, err := db.Exec(db.bind(`INSERT INTO `+quoted(name)+` (id, raw_task) VALUES (?, ?)`), id,
			fmt.Sprintf(`{"z": 1.50, "a": %d}`, id)); err != nil {
			t.Fatal(err)
		}
	}
}

// Rows come by id, with keys in their order and numbers in their digits; rows after them are seen after a Refresh, and
// others are refused.
func TestSQLRows(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address, name string) {
		db := taskTable(t, address, name, 7, 3)
		r := openRows(t, address, name, "task")
		if r.Count() != 2 || rowText(t, r, 0) != `{"z":1.50,"a":3}` || rowText(t, r, 1) != `{"z":1.50,"a":7}` {
			t.Errorf("%d rows: %s, %s", r.Count(), rowText(t, r, 0), rowText(t, r, 1))
		}
		addTasks(t, db, name, 9)
		if r.Count() != 2 {
			t.Errorf("%d rows before Refresh", r.Count())
		}
		if err := r.Refresh(t.Context()); err != nil || r.Count() != 3 || rowText(t, r, 2) != `{"z":1.50,"a":9}` {
			t.Errorf("after Refresh %d rows, %v", r.Count(), err)
		}
		addTasks(t, db, name, 5)
		if err := r.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "put in between") ||
			r.Count() != 3 {
			t.Errorf("a row in between: %v", err)
		}
		if _, err := db.Exec(`DELETE FROM ` + quoted(name) + ` WHERE id = 7`); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Row(1); err == nil || !strings.Contains(err.Error(), "id 7 is gone") {
			t.Errorf("a row that was taken away: %v", err)
		}
		src := dataset.Of(openRows(t, address, name, "task"))
		if n, err := src.Numbers([]string{"z", "a"}); err != nil || len(n) != 3 || n[1][1] != 5 || n[0][0] != 1.5 {
			t.Errorf("as a data set: %v, %v", n, err)
		}
	})
}

func TestRowsRefusals(t *testing.T) {
	dir := t.TempDir()
	odd := "sqlite:///" + filepath.Join(dir, "odd.db")
	db := taskTable(t, odd, "odd")
	insert := func(db *database, text any) {
		if _, err := db.Exec(`INSERT INTO odd (raw_task) VALUES (?)`, text); err != nil {
			t.Fatal(err)
		}
	}
	insert(db, "[1]")
	insert(db, "{cut off")
	for _, tt := range []struct {
		address, name, schema string
		row                   int
		want                  string
	}{
		{"sqlite:///" + filepath.Join(dir, "none.db"), "a", "task", 0, "the database is not there"},
		{upstreams, "question", "task", 0, `no table "question"; its tables are: pairs, questions, solutions`},
		{upstreams, "questions", "experience", 0, "choose task, sft or dpo"},
		{upstreams, "questions", "sft", 0, "message_list"},
		{"mysql://u:p@h/db", "a", "task", 0,
			`databases of kind "mysql" are not supported; use sqlite:///file.db or postgresql://`},
		{odd, "odd", "task", 0, "table odd, id 1: column raw_task must be an object"},
		{odd, "odd", "task", 1, "table odd, id 2: column raw_task is no JSON"},
	} {
		r, err := OpenRows(t.Context(), tt.address, tt.name, tt.schema, 0, 0)
		if err == nil {
			_, err = r.Row(tt.row)
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %s as %s: %v, want %q", tt.name, tt.address, tt.schema, err, tt.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "none.db")); err == nil {
		t.Error("a database was made")
	}
}

// Reading changes nothing: neither the file nor its journal mode.
func TestReadingLeavesTheFile(t *testing.T) {
	before, err := os.ReadFile("testdata/tables.db")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tables.db")
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
	r := openRows(t, "sqlite:///"+path, "questions", "task")
	rowText(t, r, 3)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the file has changed, %v", err)
	}
	var writing error
	if db, err := openReading("sqlite:///" + path); err == nil {
		_, writing = db.Exec(`DELETE FROM questions`)
		db.Close()
	}
	if writing == nil {
		t.Error("a reader may write")
	}
}
