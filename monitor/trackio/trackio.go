// Package trackio writes a project of Trackio (github.com/gradio-app/trackio).
package trackio

import (
	"cmp"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/seed-d9ad8ee0/trinity/internal/sqlite"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// schema is the tables that are written here, as Trackio makes them (trackio/sqlite_storage.py, init_db). It
// adds others when it opens the file.
var schema = []string{
	`CREATE TABLE IF NOT EXISTS metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL,
		timestamp TEXT NOT NULL, run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL,
		run_name TEXT NOT NULL, config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id))`,
	`CREATE TABLE IF NOT EXISTS traces (id TEXT PRIMARY KEY, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
		run_name TEXT NOT NULL, step INTEGER NOT NULL, key TEXT NOT NULL, trace_index INTEGER, messages TEXT NOT NULL,
		metadata TEXT NOT NULL, search_text TEXT NOT NULL, log_id TEXT, space_id TEXT,
		spans TEXT NOT NULL DEFAULT '[]')`,
}

// project is Trackio's: an SQLite file with a run for each role. Samples are traces: their conversation,
// and what was measured as metadata.
type project struct {
	db       *sql.DB
	id, name string // of the run
	warn     func(string)
	told     bool
}

// say tells the first failure. The run does not depend on Trackio's file once it is begun.
func (t *project) say(err error) {
	if err != nil && !t.told && t.warn != nil {
		t.told = true
		t.warn(fmt.Sprintf("monitor: Trackio: %v; the run continues, and metrics.jsonl has what its file misses", err))
	}
}

// Dir is where a job's Trackio project is, unless monitor_args.dir names a folder. Trackio looks for it in
// TRACKIO_DIR.
func Dir(job string) string { return filepath.Join(job, "monitor", "trackio") }

// fileName is the name of a project's file (canonical_project_name).
func fileName(project string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || r == '-' || r == '_' {
			return r
		}
		return -1
	}, project)
	return cmp.Or(name, "default") + ".db"
}

// Open begins the run of a role, or continues with it after step c.Keep.
func Open(c monitor.Config, role string) (monitor.Sink, error) {
	dir := cmp.Or(c.Text("dir"), Dir(c.Dir))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("monitor: monitor_args.dir: %w", err)
	}
	query := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)"}, "_txlock": {"immediate"}}
	path := filepath.Join(dir, fileName(c.Project))
	db := sqlite.Open(path, query)
	t := &project{db: db, name: cmp.Or(c.Name, "run") + "_" + role, warn: c.Warn}
	if err := t.begin(c, role); err != nil {
		return nil, errors.Join(fmt.Errorf("monitor: trackio: %s: %w", path, err), db.Close())
	}
	return t, nil
}

func (t *project) begin(c monitor.Config, role string) error {
	for _, statement := range schema {
		if _, err := t.db.Exec(statement); err != nil {
			return err
		}
	}
	// the folder may hold other jobs' runs, and an earlier job with this name
	mark := filepath.Join(c.Dir, "monitor", "trackio-"+role+".id")
	if raw, err := os.ReadFile(mark); err == nil {
		t.id = strings.TrimSpace(string(raw))
		for _, table := range []string{"metrics", "traces"} {
			if _, err := t.db.Exec("DELETE FROM "+table+" WHERE run_id = ? AND step > ?", t.id, c.Keep); err != nil {
				return err
			}
		}
		return nil
	}
	var id [16]byte
	rand.Read(id[:]) // never fails
	t.id = hex.EncodeToString(id[:])
	created := c.Now().UTC().Format(time.RFC3339Nano)
	config := map[string]any{"_Created": created, "_Username": nil, "_Group": c.Group}
	for key, v := range c.Settings {
		config[key] = v
	}
	if _, err := t.db.Exec("INSERT INTO configs (run_id, run_name, config, created_at) VALUES (?, ?, ?, ?)", t.id,
		t.name, monitor.JSON(config), created); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(mark), 0o755); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(t.id+"\n"), 0o644)
}

// Write implements monitor.Sink.
func (t *project) Write(at time.Time, step int, m monitor.Metrics) error {
	if len(m) == 0 {
		return nil
	}
	var line []string
	for _, key := range m.Keys() {
		line = append(line, monitor.JSON(key)+":"+monitor.JSON(rollout.Finite(m[key])))
	}
	_, err := t.db.Exec("INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)",
		t.id, at.UTC().Format(time.RFC3339Nano), t.name, step, "{"+strings.Join(line, ",")+"}")
	t.say(err)
	return nil
}

// Samples implements monitor.SampleSink.
func (t *project) Samples(at time.Time, step int, list []*rollout.Record) error {
	t.say(t.traces(at, step, list))
	return nil
}

// traces writes samples in one transaction.
func (t *project) traces(at time.Time, step int, list []*rollout.Record) error {
	tx, err := t.db.Begin()
	if err != nil {
		return err
	}
	for i, r := range list {
		if err := t.trace(tx, at, step, i, r); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// trace writes a sample. Its id, and the text that is searched, are made as Trackio makes them
// (_extract_traces_from_logs).
func (t *project) trace(tx *sql.Tx, at time.Time, step, i int, r *rollout.Record) error {
	const key = "rollouts"
	id := strings.Join([]string{t.id, strconv.Itoa(step), key, strconv.Itoa(i)}, ":")
	talk, err := json.Marshal(openAI(r.Conversation()))
	if err != nil {
		return err
	}
	about := r.About()
	text := []string{id, key}
	for _, m := range r.Conversation() {
		text = append(text, m.Role, m.Content, m.Thinking)
	}
	for _, name := range []string{"id", "task", "stop_reason", "extracted", "expected"} {
		if v, ok := about[name]; ok {
			text = append(text, fmt.Sprint(v))
		}
	}
	_, err = tx.Exec("INSERT OR REPLACE INTO traces (id, run_id, timestamp, run_name, step, key, trace_index, "+
		"messages, metadata, search_text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", id, t.id,
		at.UTC().Format(time.RFC3339Nano), t.name, step, key, i, string(talk), monitor.JSON(about),
		strings.ToLower(strings.Join(text, " ")))
	return err
}

// openAI is messages as OpenAI's interface has them, which Trackio shows.
func openAI(list []rollout.Message) (out []map[string]any) {
	for _, m := range list {
		one := map[string]any{"role": m.Role, "content": m.Content}
		if m.Thinking != "" {
			one["reasoning_content"] = m.Thinking
		}
		var calls []map[string]any
		for i, c := range m.ToolCalls {
			calls = append(calls, map[string]any{"id": fmt.Sprint("call_", i), "type": "function",
				"function": map[string]any{"name": c.Name, "arguments": string(c.Arguments)}})
		}
		if calls != nil {
			one["tool_calls"] = calls
		}
		out = append(out, one)
	}
	return out
}

// Close implements monitor.Sink. Trackio has no state of a run.
func (t *project) Close(bool) error { return t.db.Close() }
