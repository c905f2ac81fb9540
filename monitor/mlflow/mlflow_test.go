package mlflow

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/sqlite"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/monitortest"
)

// mlflowPython has mlflow; bench/monitors-python makes and names one. Its test is here since it shares the runs and the
// expected values with TestMLflowStores.
func mlflowPython() string { return os.Getenv("TRINITY_TEST_PYTHON") }

// localStores are the URIs of a store of each kind in a folder.
func localStores(dir string) map[string]string {
	return map[string]string{"folder": "file://" + filepath.ToSlash(dir) + "/mlruns", "tables": "sqlite:///" +
		filepath.ToSlash(dir) + "/mlflow.db",
		"path": dir + "/plain"}
}

// stored is a run as it is read back.
type stored struct {
	Experiment, Name, Status string
	Metrics                  []string // step:key=value, in order of key and step
	Latest                   map[string]float64
	Params                   map[string]string
	Tags                     map[string]string
}

// writeRun writes a run that is killed after step 2 with a third step begun, continues and ends.
func writeRun(t *testing.T, uri string) (c monitor.Config, warned *[]string) {
	t.Helper()
	clock := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	warned = new([]string)
	c = monitor.Config{Dir: t.TempDir(), Open: Open, Keep: -1,
		Now: func() time.Time { clock = clock.Add(time.Second); return clock }, Project: "a project", Name: "name",
		Args: map[string]any{"uri": uri}, Roles: []string{"trainer"},
		Warn: func(s string) { *warned = append(*warned, s) },
		Settings: map[string]any{"model": map[string]any{"rank": 8, "path": nil, "args": map[string]any{}},
			"sets": []any{map[string]any{"name": "x", "n": 1}}, "own": map[string]int{"a": 1}}}
	monitortest.RecordMetrics(t, c, 1, 3, false) // step 3 was not committed
	c.Keep = 2
	monitortest.RecordMetrics(t, c, 3, 4, true)
	return c, warned
}

var wantMetrics = []string{"1:a/b=1", "2:a/b=2", "3:a/b=3", "4:a/b=4", "1:loss=1", "2:loss=0.5",
	"3:loss=0.3333333333333333", "4:loss=0.25"}

func (s stored) check(t *testing.T) {
	t.Helper()
	if s.Experiment != "a project" || s.Name != "name_trainer" || s.Status != "FINISHED" {
		t.Errorf("experiment %q, run %q, %s", s.Experiment, s.Name, s.Status)
	}
	if !slices.Equal(s.Metrics, wantMetrics) {
		t.Errorf("metrics %q, want %q", s.Metrics, wantMetrics)
	}
	if s.Latest["loss"] != 0.25 || s.Latest["a/b"] != 4 {
		t.Errorf("latest %v", s.Latest)
	}
	for key, want := range map[string]string{"model.rank": "8", "model.path": "null", "model.args": "{}",
		"sets": `[{"n":1,"name":"x"}]`, "own": `{"a":1}`} {
		if s.Params[key] != want {
			t.Errorf("parameter %s is %q, want %q", key, s.Params[key], want)
		}
	}
	if s.Tags["role"] != "trainer" || s.Tags["group"] != "name" || s.Tags["mlflow.runName"] != "name_trainer" {
		t.Errorf("tags %v", s.Tags)
	}
}

// Runs in local stores need no server. A run that continues is one run, without the metrics of the step that is done
// again.
func TestMLflowStores(t *testing.T) {
	for kind, uri := range localStores(t.TempDir()) {
		t.Run(kind, func(t *testing.T) {
			_, warned := writeRun(t, uri)
			if len(*warned) > 0 {
				t.Errorf("warnings: %q", *warned)
			}
			if path, ok := strings.CutPrefix(uri, "sqlite:///"); ok {
				readTables(t, path).check(t)
				return
			}
			readFolder(t, strings.TrimPrefix(uri, "file://")).check(t)
		})
	}
}

func readTables(t *testing.T, path string) (s stored) {
	t.Helper()
	db := sqlite.Open(path, nil)
	defer db.Close()
	var run string
	err := db.QueryRow(`SELECT e.name, r.name, r.status, r.run_uuid FROM runs r JOIN experiments e ON `+
		`e.experiment_id = r.experiment_id`).Scan(&s.Experiment, &s.Name, &s.Status, &run)
	if err != nil {
		t.Fatal(err)
	}
	pairs := func(table string) map[string]string {
		m := map[string]string{}
		each(t, db, `SELECT "key", value FROM `+table, func(scan func(...any) error) error {
			var k, v string
			err := scan(&k, &v)
			m[k] = v
			return err
		})
		return m
	}
	s.Params, s.Tags, s.Latest = pairs("params"), pairs("tags"), map[string]float64{}
	each(t, db, `SELECT step, "key", value FROM metrics ORDER BY "key", step`, func(scan func(...any) error) error {
		var step int
		var k string
		var v float64
		err := scan(&step, &k, &v)
		s.Metrics = append(s.Metrics, fmt.Sprintf("%d:%s=%v", step, k, v))
		return err
	})
	each(t, db, `SELECT "key", value FROM latest_metrics`, func(scan func(...any) error) error {
		var k string
		var v float64
		err := scan(&k, &v)
		s.Latest[k] = v
		return err
	})
	return s
}

func each(t *testing.T, db *sql.DB, query string, row func(func(...any) error) error) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

func readFolder(t *testing.T, root string) (s stored) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "*", "*", "meta.yaml"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d runs, %v", len(found), err)
	}
	dir := filepath.Dir(found[0])
	read := func(path string) string {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if meta := read(found[0]); strings.Contains(meta, "status: 3\n") &&
		strings.Contains(meta, "run_name: \"name_trainer\"\n") && !strings.Contains(meta, "end_time: null") {
		s.Name, s.Status = "name_trainer", "FINISHED"
	}
	if strings.Contains(read(filepath.Join(filepath.Dir(dir), "meta.yaml")), "name: \"a project\"\n") {
		s.Experiment = "a project"
	}
	pairs := func(name string) map[string]string {
		m := map[string]string{}
		files, _ := filepath.Glob(filepath.Join(dir, name, "*"))
		for _, f := range files {
			m[filepath.Base(f)] = read(f)
		}
		return m
	}
	s.Params, s.Tags, s.Latest = pairs("params"), pairs("tags"), map[string]float64{}
	for _, key := range []string{"a/b", "loss"} {
		for line := range strings.Lines(read(filepath.Join(dir, "metrics", key))) {
			var at int64
			var v float64
			var step int
			if _, err := fmt.Sscan(line, &at, &v, &step); err != nil {
				t.Fatal(err)
			}
			s.Metrics, s.Latest[key] = append(s.Metrics, fmt.Sprintf("%d:%s=%v", step, key, v)), v
		}
	}
	return s
}

// MLflow itself reads what was written, brings a new SQLite file up to its own revision, and a run continues in that
// one.
func TestMLflowReadsStores(t *testing.T) {
	if mlflowPython() == "" {
		t.Skip("needs Python with mlflow: go run ./bench monitors-python")
	}
	for kind, uri := range localStores(t.TempDir()) {
		t.Run(kind, func(t *testing.T) {
			c, _ := writeRun(t, uri)
			byMLflow(t, uri).check(t)
			c.Keep = 3
			monitortest.RecordMetrics(t, c, 4, 4, true) // in a file that MLflow has changed meanwhile
			byMLflow(t, uri).check(t)
			c.Keep, c.Dir, c.Name = -1, t.TempDir(), "second"
			monitortest.RecordMetrics(t, c, 1, 1, true)
		})
	}
}

func byMLflow(t *testing.T, uri string) (s stored) {
	t.Helper()
	cmd := exec.Command(mlflowPython(), "testdata/mlflow_read.py", uri, "a project", "name_trainer")
	cmd.Env = append(os.Environ(), "MLFLOW_ALLOW_FILE_STORE=true")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return s
}

// What cannot be a store is refused by name, and values that are no numbers have MLflow's form.
func TestMLflowStoreRefusals(t *testing.T) {
	for uri, want := range map[string]string{"sqlite:": "names no SQLite file", "sqlite:///": "names no SQLite file",
		"file://elsewhere/x": "names no folder of this machine",
		"ftp://x":            "is neither the address", "mlruns": "is neither the address"} {
		c := monitor.Config{Dir: t.TempDir(), Open: Open, Keep: -1, Args: map[string]any{"uri": uri},
			Roles: []string{"trainer"}}
		if _, err := monitor.Open(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", uri, err, want)
		}
	}
	if v, nan := columnValue(math.NaN()); v != 0 || !nan {
		t.Errorf("NaN is %v, %v", v, nan)
	}
	if v, nan := columnValue(math.Inf(-1)); v != -math.MaxFloat64 || nan {
		t.Errorf("-Inf is %v, %v", v, nan)
	}
}
