package source

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/sqlite"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// databases are the experience buffers that Trinity-RFT keeps in SQLite: experiences.db, and those below buffer/. A row
// of a table is a record; its number is its place. They are opened for reading alone.
type databases string

// Files implements rollout.Folder. A database is one file, since its rows do not tell steps apart.
func (d databases) Files() ([]rollout.File, error) {
	var list []rollout.File
	paths := append(glob(string(d), "*.db"), glob(string(d), "buffer", "*.db")...)
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil {
			continue
		}
		size, at := st.Size(), st.ModTime().UnixNano()
		if wal, err := os.Stat(path + "-wal"); err == nil { // what is not in the database yet
			size, at = size+wal.Size(), max(at, wal.ModTime().UnixNano())
		}
		name, err := filepath.Rel(string(d), path)
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
	s := &rollout.Segment{File: f.Name, Size: f.Size, Time: f.Time}
	rows, err := open.db.QueryContext(ctx, "SELECT "+open.columns+" FROM "+quoteName(open.table)+" ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("source: %s: %w", f.Name, err)
	}
	defer rows.Close()
	for n := int32(0); rows.Next(); n++ {
		id, line, err := open.record(rows)
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

// database is an open one, with the table of experiences and the columns of it that are read.
type database struct {
	db      *sql.DB
	name    string
	table   string
	columns string
	names   []string
}

// wanted are the columns that are read if a table has them.
var wanted = []string{"id", "task_id", "run_id", "model_version", "reward", "prompt", "response", "experience_bytes"}

func (d databases) open(f rollout.File) (*database, error) {
	path := filepath.Join(string(d), filepath.FromSlash(f.Name))
	db := sqlite.Open(path, url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(2000)"}})
	x := &database{db: db, name: f.Name}
	if err := x.choose(); err != nil {
		db.Close()
		return nil, fmt.Errorf("source: %s: %w", path, err)
	}
	return x, nil
}

// choose finds the table of experiences.
func (x *database) choose() error {
	tables, err := texts(x.db, `SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`)
	if err != nil {
		return err
	}
	for _, table := range tables {
		has, err := texts(x.db, "SELECT name FROM pragma_table_info("+quoteText(table)+")")
		if err != nil {
			return err
		}
		if !slices.Contains(has, "id") || !slices.Contains(has, "reward") {
			continue
		}
		x.table, x.names = table, nil
		for _, name := range wanted {
			if slices.Contains(has, name) {
				x.names = append(x.names, name)
			}
		}
		x.columns = strings.Join(x.names, ", ")
		return nil
	}
	return fmt.Errorf("no table has the columns id and reward of an experience buffer")
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
	rows, err := x.db.Query("SELECT "+x.columns+" FROM "+quoteName(x.table)+" WHERE id = ?", row.Offset)
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
			}
		case []byte:
			if name == "experience_bytes" {
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

// readExperience reads an experience as Trinity-RFT writes it (serialize_many, version 1): "TRXP", a version, two
// lengths, a pickle of what is no tensor, and a safetensors file with the tensors of each experience.
func readExperience(r *rollout.Record, data []byte) {
	if len(data) < 21 || string(data[:4]) != "TRXP" || data[4] != 1 {
		return
	}
	meta, size := binary.LittleEndian.Uint64(data[5:]), binary.LittleEndian.Uint64(data[13:])
	rest := data[21:]
	if meta > uint64(len(rest)) || size > uint64(len(rest))-meta || size < 8 {
		return
	}
	readTensors(r, rest[meta:meta+size], readPickled(r, rest[:meta]))
}

// readTensors reads tokens and logprobs, of which so many are the prompt's; 0: it is not known.
func readTensors(r *rollout.Record, rest []byte, prompt int) {
	head := binary.LittleEndian.Uint64(rest)
	if head > uint64(len(rest))-8 {
		return
	}
	var tensors map[string]struct {
		Type string    `json:"dtype"`
		At   [2]uint64 `json:"data_offsets"`
	}
	if json.Unmarshal(rest[8:8+head], &tensors) != nil {
		return
	}
	body := rest[8+head:]
	get := func(name string) (string, []byte) {
		t := tensors["0:"+name]
		if t.At[0] > t.At[1] || t.At[1] > uint64(len(body)) {
			return "", nil
		}
		return t.Type, body[t.At[0]:t.At[1]]
	}
	tokens := integers(get("tokens"))
	logprobs := floats(get("logprobs"))
	mask := integers(get("action_mask"))
	n := max(len(logprobs), len(mask))
	if prompt > 0 && n == 0 {
		n = len(tokens) - prompt
	}
	if n < 0 || n > len(tokens) {
		return
	}
	r.PromptTokens, r.Tokens, r.Logprobs = tokens[:len(tokens)-n], tokens[len(tokens)-n:], logprobs
	if len(mask) == n {
		on := make([]bool, n)
		for i, m := range mask {
			on[i] = m != 0
		}
		r.Mask = rollout.MaskOf(on)
	}
}

func integers(kind string, b []byte) (list []int32) {
	switch kind {
	case "I64":
		for ; len(b) >= 8; b = b[8:] {
			list = append(list, int32(binary.LittleEndian.Uint64(b)))
		}
	case "I32":
		for ; len(b) >= 4; b = b[4:] {
			list = append(list, int32(binary.LittleEndian.Uint32(b)))
		}
	case "BOOL", "U8", "I8":
		for _, v := range b {
			list = append(list, int32(v))
		}
	}
	return list
}

func floats(kind string, b []byte) (list []float32) {
	switch kind {
	case "F32":
		for ; len(b) >= 4; b = b[4:] {
			list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case "BF16":
		for ; len(b) >= 2; b = b[2:] {
			list = append(list, math.Float32frombits(uint32(binary.LittleEndian.Uint16(b))<<16))
		}
	}
	for i, v := range list { // JSON has no others
		if v != v || math.IsInf(float64(v), 0) {
			list[i] = 0
		}
	}
	return list
}
