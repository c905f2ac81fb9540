package source

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// Table is one table of experiences in a database, or a file of JSON lines, shown as a run.
type Table struct {
	File  string // of SQLite; a file that ends in .jsonl or .json; or a URL postgresql://user:password@host/name
	Name  string // of the table
	Model string // whose tokenizer its tokens are of
}

// Lines reports whether it is a file of JSON lines, which has no tables and no tokens.
func (t *Table) Lines() bool {
	return slices.Contains([]string{".jsonl", ".json"}, filepath.Ext(t.File))
}

// Check reports why the table cannot be shown, nil if it can.
func (t *Table) Check() error {
	if t.Lines() {
		return experienceLines(t.File).check()
	}
	open, err := t.Rollouts().Open(rollout.File{Name: filepath.Base(t.File)})
	if err != nil {
		return err
	}
	return open.Close()
}

func (t *Table) Kind() Kind                  { return Upstream }
func (t *Table) Metrics() (path, key string) { return t.Path() + ".metrics", "step" }
func (t *Table) Settings() []Setting         { return nil }
func (t *Table) Checkpoints() []Checkpoint   { return nil }
func (t *Table) Clock() map[int]time.Time    { return nil }

// Rollouts implements Run.
func (t *Table) Rollouts() rollout.Folder {
	switch {
	case t.Lines():
		return experienceLines(t.File)
	case t.remote():
		return postgres{t.File, t.Name, t.Path()}
	}
	return databases{dir: filepath.Dir(t.File), file: filepath.Base(t.File), table: t.Name}
}

func (t *Table) remote() bool { return strings.Contains(t.File, "://") }

// Path implements Run: of a URL what may be shown, without its password.
func (t *Table) Path() string {
	if !t.remote() {
		return t.File
	}
	u, err := url.Parse(t.File)
	if err != nil {
		return "a database"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// Look implements Run.
func (t *Table) Look() Look {
	path := t.Path()
	l := Look{Name: strings.TrimSpace(filepath.Base(path) + " " + t.Name),
		Project: filepath.Base(filepath.Dir(path)), Model: t.Model, Step: -1, Updated: newest(path, path+"-wal")}
	l.State, l.Why = aged(l.Updated, false)
	return l
}
