package source

import (
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// Table is one table of experiences in an SQLite file, shown as a run.
type Table struct {
	File  string // the database
	Name  string // of the table
	Model string // whose tokenizer its tokens are of
}

func (t *Table) folder() databases {
	return databases{dir: filepath.Dir(t.File), file: filepath.Base(t.File), table: t.Name}
}

// Check reports why the table cannot be shown, nil if it can.
func (t *Table) Check() error {
	open, err := t.folder().open(rollout.File{Name: filepath.Base(t.File)})
	if err != nil {
		return err
	}
	return open.Close()
}

func (t *Table) Path() string                { return t.File }
func (t *Table) Kind() Kind                  { return Upstream }
func (t *Table) Metrics() (path, key string) { return t.File + ".metrics", "step" }
func (t *Table) Rollouts() rollout.Folder    { return t.folder() }
func (t *Table) Settings() []Setting         { return nil }
func (t *Table) Checkpoints() []Checkpoint   { return nil }
func (t *Table) Clock() map[int]time.Time    { return nil }

// Look implements Run.
func (t *Table) Look() Look {
	l := Look{Name: filepath.Base(t.File) + " " + t.Name, Project: filepath.Base(filepath.Dir(t.File)), Model: t.Model,
		Step: -1, Updated: newest(t.File, t.File+"-wal")}
	l.State, l.Why = aged(l.Updated, false)
	return l
}
