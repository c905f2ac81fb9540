package mlflow

import (
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/sqlite"
)

// tables is MLflow's store in an SQLite file.
type tables struct {
	db   *sql.DB
	path string
}

// schema is the tables of a new file, as MLflow had them at the revision named last
// (mlflow/store/db_migrations/versions): the first one with all that is written here. A later MLflow finds that
// tables are missing, and brings the file up to its own revision when it opens it; the names of the constraints
// matter for that. What is written here is in all later revisions too.
//
//go:embed tables.sql
var schema string

// busy is how long, in milliseconds, a write waits for another process that writes the file.
const busy = 10_000

func openTables(path string) (store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("monitor: monitor_args.uri: %w", err)
	}
	query := url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", busy)}, "_txlock": {"immediate"}}
	return &tables{sqlite.Open(path, query), path}, nil
}

func (s *tables) close() error { return s.db.Close() }

// statement is a statement with its arguments.
type statement struct {
	text string
	args []any
}

// do runs statements in one transaction.
func (s *tables) do(prepare func(tx *sql.Tx) ([]statement, error)) error {
	tx, err := s.db.Begin()
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	list, err := prepare(tx)
	for _, st := range list {
		if err == nil {
			_, err = tx.Exec(st.text, st.args...)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, errors.Join(err, tx.Rollback()))
	}
	return tx.Commit()
}

func (s *tables) all(list ...statement) error {
	return s.do(func(*sql.Tx) ([]statement, error) { return list, nil })
}

func (s *tables) create(r run) (id string, err error) {
	id = newID()
	return id, s.do(func(tx *sql.Tx) ([]statement, error) {
		if err := s.makeTables(tx); err != nil {
			return nil, err
		}
		experiment, err := s.experiment(tx, r.experiment)
		if err != nil {
			return nil, err
		}
		list := []statement{{`INSERT INTO runs
			(run_uuid, name, source_type, source_name, entry_point_name, user_id, status, start_time, ` +
			`source_version, lifecycle_stage, artifact_uri,
			experiment_id) VALUES (?, ?, 'LOCAL', '', '', ?, 'RUNNING', ?, '', 'active', ?, ?)`,
			[]any{id, r.name, r.user, r.start, s.artifacts(experiment) + "/" + id + "/artifacts", experiment}}}
		for _, p := range r.params {
			args := []any{p.Key, p.Value, id}
			list = append(list, statement{`INSERT INTO params ("key", value, run_uuid) VALUES (?, ?, ?)`, args})
		}
		for _, p := range r.named() {
			args := []any{p.Key, p.Value, id}
			list = append(list, statement{`INSERT INTO tags ("key", value, run_uuid) VALUES (?, ?, ?)`, args})
		}
		return list, nil
	})
}

// makeTables makes the tables of a new file.
func (s *tables) makeTables(tx *sql.Tx) error {
	var n int
	err := tx.QueryRow(`SELECT COUNT(*) FROM sqlite_master
		WHERE type = 'table' AND name IN ('experiments', 'runs', 'metrics')`).Scan(&n)
	if err != nil || n == 3 {
		return err
	}
	if _, err := tx.Exec(schema); err != nil {
		return fmt.Errorf("it has no tables of MLflow, and they cannot be made: %w", err)
	}
	_, err = tx.Exec(`INSERT INTO experiments (experiment_id, name, artifact_location, lifecycle_stage)
		VALUES (0, 'Default', ?, 'active')`, s.artifacts(0))
	return err
}

// experiment finds an experiment by its name, or makes it.
func (s *tables) experiment(tx *sql.Tx, name string) (id int64, err error) {
	var stage string
	err = tx.QueryRow(`SELECT experiment_id, lifecycle_stage FROM experiments WHERE name = ?`, name).Scan(&id, &stage)
	switch {
	case err == nil && stage == "deleted":
		return 0, fmt.Errorf("the experiment %s is deleted; restore it with mlflow experiments restore -x %d, "+
			"or give the project another name", name, id)
	case !errors.Is(err, sql.ErrNoRows):
		return id, err
	}
	res, err := tx.Exec(`INSERT INTO experiments (name, lifecycle_stage) VALUES (?, 'active')`, name)
	if err != nil {
		return 0, err
	}
	if id, err = res.LastInsertId(); err != nil {
		return 0, err
	}
	_, err = tx.Exec(`UPDATE experiments SET artifact_location = ? WHERE experiment_id = ?`, s.artifacts(id), id)
	return id, err
}

// artifacts is where an experiment's files would be; there are none.
func (s *tables) artifacts(id int64) string {
	dir, err := filepath.Abs(filepath.Dir(s.path))
	if err != nil {
		dir = filepath.Dir(s.path)
	}
	return fileURL(filepath.Join(dir, "mlruns", fmt.Sprint(id)))
}

func (s *tables) log(id string, list []metric) error {
	var all []statement
	for _, m := range list {
		value, nan := columnValue(m.Value)
		all = append(all,
			statement{`INSERT OR IGNORE INTO metrics ("key", value, timestamp, run_uuid, step, is_nan)
				VALUES (?, ?, ?, ?, ?, ?)`,
				[]any{m.Key, value, m.Timestamp, id, m.Step, nan}},
			statement{`INSERT INTO latest_metrics ("key", value, timestamp, step, is_nan, run_uuid)
				VALUES (?, ?, ?, ?, ?, ?)
				ON CONFLICT ("key", run_uuid) DO UPDATE SET value = excluded.value, timestamp = excluded.timestamp,
				step = excluded.step, is_nan = excluded.is_nan
				WHERE excluded.step >= latest_metrics.step`, []any{m.Key, value, m.Timestamp, m.Step, nan, id}})
	}
	return s.all(all...)
}

// columnValue is how MLflow keeps a value: NaN as a mark, an infinity as the largest number.
func columnValue(v float64) (float64, bool) {
	switch {
	case math.IsNaN(v):
		return 0, true
	case math.IsInf(v, 0):
		return math.Copysign(math.MaxFloat64, v), false
	}
	return v, false
}

func (s *tables) forget(id string, step int) error {
	return s.all(
		statement{`DELETE FROM metrics WHERE run_uuid = ? AND step > ?`, []any{id, step}},
		statement{`DELETE FROM latest_metrics WHERE run_uuid = ?`, []any{id}},
		statement{`INSERT OR REPLACE INTO latest_metrics ("key", value, timestamp, step, is_nan, run_uuid)
			SELECT "key", value, timestamp, step, is_nan, run_uuid FROM metrics
			WHERE run_uuid = ? ORDER BY step, timestamp`, []any{id}})
}

func (s *tables) update(id, status string, end *int64) error {
	err := s.do(func(tx *sql.Tx) ([]statement, error) {
		res, err := tx.Exec(`UPDATE runs SET status = ?, end_time = ? WHERE run_uuid = ?`, status, end, id)
		if err != nil {
			return nil, err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return nil, errors.Join(err, fmt.Errorf("there is no run %s", id))
		}
		return nil, nil
	})
	if err != nil && strings.Contains(err.Error(), "no such table") {
		return fmt.Errorf("there is no run %s: %w", id, err)
	}
	return err
}
