package source

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// Table is one table of experiences in an SQLite file, or a file of JSON lines, shown as a run.
type Table struct {
	File  string // the database, or a file that ends in .jsonl or .json
	Name  string // of the table
	Model string // whose tokenizer its tokens are of
}

// Lines reports whether it is a file of JSON lines, which has no tables and no tokens.
func (t *Table) Lines() bool {
	return slices.Contains([]string{".jsonl", ".json"}, filepath.Ext(t.File))
}

func (t *Table) database() databases {
	return databases{dir: filepath.Dir(t.File), file: filepath.Base(t.File), table: t.Name}
}

// Check reports why the table cannot be shown, nil if it can.
func (t *Table) Check() error {
	if t.Lines() {
		return experienceLines(t.File).check()
	}
	open, err := t.database().open(rollout.File{Name: filepath.Base(t.File)})
	if err != nil {
		return err
	}
	return open.Close()
}

func (t *Table) Path() string                { return t.File }
func (t *Table) Kind() Kind                  { return Upstream }
func (t *Table) Metrics() (path, key string) { return t.File + ".metrics", "step" }
func (t *Table) Settings() []Setting         { return nil }
func (t *Table) Checkpoints() []Checkpoint   { return nil }
func (t *Table) Clock() map[int]time.Time    { return nil }

// Rollouts implements Run.
func (t *Table) Rollouts() rollout.Folder {
	if t.Lines() {
		return experienceLines(t.File)
	}
	return t.database()
}

// Look implements Run.
func (t *Table) Look() Look {
	l := Look{Name: strings.TrimSpace(filepath.Base(t.File) + " " + t.Name),
		Project: filepath.Base(filepath.Dir(t.File)), Model: t.Model, Step: -1, Updated: newest(t.File, t.File+"-wal")}
	l.State, l.Why = aged(l.Updated, false)
	return l
}
