package source

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/sqlite"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// databases are the experience buffers that Trinity-RFT and this program keep in SQLite: experiences.db, and those
// below buffer/. A row of a table is a record; its number is its place. They are opened for reading alone.
type databases struct {
	dir         string
	file, table string // the only ones that are looked at; "": all, and the first that has experiences
}

// Files implements rollout.Folder. A database is one file, since its rows do not tell steps apart.
func (d databases) Files() ([]rollout.File, error) {
	var list []rollout.File
	paths := append(glob(d.dir, "*.db"), glob(d.dir, "buffer", "*.db")...)
	if d.file != "" {
		paths = []string{filepath.Join(d.dir, d.file)}
	}
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil {
			continue
		}
		size, at := st.Size(), st.ModTime().UnixNano()
		if wal, err := os.Stat(path + "-wal"); err == nil { // what is not in the database yet
			size, at = size+wal.Size(), max(at, wal.ModTime().UnixNano())
		}
		name, err := filepath.Rel(d.dir, path)
		if err != nil {
			continue
		}
		list = append(list, rollout.File{Name: filepath.ToSlash(name), Size: size, Time: at})
	}
	return list, nil
}

// Scan implements rollout.Folder.
func (d databases) Scan(ctx context.Context, f rollout.File) (*rollout.Segment, error) {
	open, err := d.open(f)
	if err != nil {
		return nil, err
	}
	defer open.Close()
	return open.scan(ctx, f)
}

// scan makes the index of the table.
func (x *database) scan(ctx context.Context, f rollout.File) (*rollout.Segment, error) {
	s := &rollout.Segment{File: f.Name, Size: f.Size, Time: f.Time}
	rows, err := x.db.QueryContext(ctx, x.query+" ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("source: %s: %w", f.Name, err)
	}
	defer rows.Close()
	for n := int32(0); rows.Next(); n++ {
		id, line, err := x.record(rows)
		if err != nil {
			s.Bad++
			continue
		}
		row, parts, err := rollout.Describe(line)
		if err != nil {
			s.Bad++
			continue
		}
		row.Offset, row.Length, row.Line = id, int32(len(line)), n
		s.Add(row, parts)
	}
	return s, rows.Err()
}

// Open implements rollout.Folder.
func (d databases) Open(f rollout.File) (rollout.Opened, error) { return d.open(f) }

// database is an open one, with the query of a table of experiences and the names of its columns.
type database struct {
	db    *sql.DB
	name  string
	query string
	names []string
}

func (d databases) open(f rollout.File) (*database, error) {
	path := filepath.Join(d.dir, filepath.FromSlash(f.Name))
	db := sqlite.Open(path, url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(2000)"}})
	x := &database{db: db, name: f.Name}
	if err := x.choose(d.table, inSQLite); err != nil {
		db.Close()
		return nil, fmt.Errorf("source: %s: %w", path, err)
	}
	return x, nil
}

// catalog is a database's queries for the names of its tables, and of a table's columns, with %s for its quoted name.
type catalog struct{ tables, columns string }

var inSQLite = catalog{`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`,
	`SELECT name FROM pragma_table_info(%s)`}

// choose finds the table of experiences: the one of that name, or the first that has rewards.
func (x *database) choose(name string, in catalog) error {
	tables, err := texts(x.db, in.tables)
	if err != nil {
		return err
	}
	for _, table := range tables {
		has, err := texts(x.db, fmt.Sprintf(in.columns, quoteText(table)))
		if err != nil {
			return err
		}
		if table == name && !slices.Contains(has, "id") {
			return fmt.Errorf("table %q has no column id, as experiences have", name)
		}
		if table == name || name == "" && slices.Contains(has, "id") && slices.Contains(has, "reward") {
			x.read(table, has, slices.Contains(tables, table+"_blob"))
			return nil
		}
	}
	if name != "" {
		return fmt.Errorf("there is no table %q; there are %s", name, strings.Join(tables, ", "))
	}
	return fmt.Errorf("no table has the columns id and reward of an experience buffer")
}

// wanted are the columns that are read if a table has them.
var wanted = []string{"id", "task_id", "run_id", "model_version", "reward", "prompt", "response", "message_list",
	blobColumn}

// blobColumn has the serialised experience. Trinity-RFT 0.5.2 has it in the table itself, 0.6.0 in one beside it.
const blobColumn = "experience_bytes"

// read makes the query of a table with these columns.
func (x *database) read(table string, has []string, beside bool) {
	var columns []string
	x.names = nil
	for _, name := range wanted {
		column := quoteName(table) + "." + name
		switch {
		case name == blobColumn && beside:
			blobs := quoteName(table + "_blob")
			blob := "(SELECT " + blobColumn + " FROM " + blobs + " WHERE " + blobs + ".id = " + quoteName(table) +
				".id)"
			if slices.Contains(has, name) {
				blob = "COALESCE(" + blob + ", " + column + ")"
			}
			column = blob
		case !slices.Contains(has, name):
			continue
		}
		columns, x.names = append(columns, column), append(x.names, name)
	}
	x.query = "SELECT " + strings.Join(columns, ", ") + " FROM " + quoteName(table)
}

func texts(db *sql.DB, query string) (list []string, err error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
func quoteText(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }

// Close implements rollout.Opened.
func (x *database) Close() error { return x.db.Close() }

// Read implements rollout.Opened.
func (x *database) Read(row *rollout.Row, part rollout.Span, _ []byte) ([]byte, error) {
	rows, err := x.db.Query(fmt.Sprint(x.query, " WHERE id = ", row.Offset))
	if err != nil {
		return nil, fmt.Errorf("source: %s: %w", x.name, err)
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, fmt.Errorf("source: %s has no row %d any more", x.name, row.Offset)
	}
	_, line, err := x.record(rows)
	if err != nil {
		return nil, err
	}
	if part == row.Whole() {
		return line, nil
	}
	if part.At < 0 || part.Len < 0 || int(part.At)+int(part.Len) > len(line) {
		return nil, fmt.Errorf("source: row %d of %s was changed while it was read", row.Offset, x.name)
	}
	return line[part.At : part.At+part.Len], nil
}

// record is the row that rows stands at, as a record's line.
func (x *database) record(rows *sql.Rows) (id int64, line []byte, err error) {
	values := make([]any, len(x.names))
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return 0, nil, fmt.Errorf("source: %s: %w", x.name, err)
	}
	r := rollout.Record{Metrics: map[string]float64{}}
	task, run, bytes := "", int64(0), []byte(nil)
	for i, name := range x.names {
		switch v := values[i].(type) {
		case int64:
			switch name {
			case "id":
				id = v
			case "run_id":
				run = v
			case "model_version":
				r.ModelVersion = int(v)
			case "reward":
				r.Reward = rollout.Finite(float64(v))
			case "task_id":
				task = fmt.Sprint(v)
			}
		case float64:
			if name == "reward" {
				r.Reward = rollout.Finite(v)
			}
		case string:
			switch name {
			case "task_id":
				task = v
			case "prompt":
				r.Prompt = v
			case "response":
				r.Response = v
			case "message_list":
				readMessages(&r, json.RawMessage(v))
			}
		case []byte:
			if name == blobColumn {
				bytes = v
			}
		}
	}
	r.Task = strings.ReplaceAll(task, "/", ".")
	r.ID = fmt.Sprintf("0/%s/%d/0/%d", r.Task, run, id)
	readExperience(&r, bytes)
	line, err = json.Marshal(r)
	return id, line, err
}
