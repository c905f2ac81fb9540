package source

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/seed-d9ad8ee0/trinity/internal/sqlite"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// viewed makes a table of a Postgres server with the two experiences of testdata/upstream, in the layout of 0.6.0, and
// what an example of sft has.
func viewed(t *testing.T) *Table {
	address := os.Getenv("TRINITY_TEST_POSTGRES")
	if address == "" {
		t.Skip("needs a server: make bench NAME=postgres")
	}
	conf, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*conf)
	defer db.Close()
	must := func(statement string, args ...any) {
		if _, err := db.Exec(statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	must(`CREATE TABLE viewed (id SERIAL PRIMARY KEY, task_id VARCHAR, run_id INTEGER, model_version INTEGER,
		reward FLOAT, message_list JSON)`)
	must(`CREATE TABLE viewed_blob (id INTEGER PRIMARY KEY, experience_bytes BYTEA NOT NULL)`)
	pickled := sqlite.Open(filepath.Join("testdata", "upstream", "experiences.db"), url.Values{"mode": {"ro"}})
	defer pickled.Close()
	for id, reward := range []float64{1, 0} {
		var data []byte
		if err := pickled.QueryRow("SELECT experience_bytes FROM experience_buffer WHERE id = ?", id+1).Scan(
			&data); err != nil {
			t.Fatal(err)
		}
		must(`INSERT INTO viewed (task_id, run_id, model_version, reward) VALUES ('7', $1, 2, $2)`, id, reward)
		must(`INSERT INTO viewed_blob VALUES ($1, $2)`, id+1, data)
	}
	return &Table{File: strings.Replace(address, "postgresql://trinity@", "postgresql+asyncpg://trinity:secret@", 1),
		Name: "viewed"}
}

// A table of a Postgres server has the records that it has in a file.
func TestPostgres(t *testing.T) {
	table := viewed(t)
	one, two := twoRecords(t, table.Rollouts())
	if one.Reward == nil || *one.Reward != 1 || len(two.Tokens) != 3 {
		t.Errorf("the records are %+v, %+v", one, two)
	}
	if err := table.Check(); err != nil || strings.Contains(fmt.Sprint(table.Path(), table.Look()), "secret") {
		t.Errorf("%s %+v: %v", table.Path(), table.Look(), err)
	}
	open, err := table.Rollouts().(postgres).open()
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if _, err := open.db.Exec(`INSERT INTO viewed (task_id, message_list) VALUES ('8', '[{"role": "user", "content": ` +
		`"Hello?"}, {"role": "assistant", "content": "Hello."}]')`); err != nil {
		t.Fatal(err)
	}
	x := rollout.NewIndex(table.Rollouts())
	if err := x.Refresh(t.Context(), nil); err != nil || len(x.Table().Files[0].Rows) != 3 {
		t.Fatalf("%+v, %v", x.Table().Files, err)
	}
	if row := x.Table().Files[0].Rows[2]; row.Group != "8" || row.Text.Len == 0 {
		t.Errorf("an example of sft: %+v", row)
	}
	table.Name = "none"
	if err := table.Check(); err == nil || !strings.Contains(err.Error(), "there are viewed, viewed_blob") {
		t.Errorf("a table that is not there: %v", err)
	}
}
