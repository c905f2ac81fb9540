package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// File is a file of records.
type File struct {
	Name string // within its folder
	Set  string // "" for what is trained on; the taskset of an evaluation
	Step int
	Size int64
	Time int64 // of the last change, Unix nanoseconds
}

// Folder is where records are. Implementations are safe for concurrent use.
type Folder interface {
	// Files lists what is there, in any order. A folder that is not there has none.
	Files() ([]File, error)
	// Scan makes the index of a file.
	Scan(ctx context.Context, f File) (*Segment, error)
	// Open opens a file for reading records.
	Open(f File) (Opened, error)
}

// Opened reads records of one file.
type Opened interface {
	io.Closer
	// Read returns a part of a row's line, as JSON of a Record; buf may be used for it.
	Read(row *Row, part Span, buf []byte) ([]byte, error)
}

// Whole is a row's line.
func (r *Row) Whole() Span { return Span{0, r.Length} }

// Dir is the folder rollouts/ of a job.
type Dir string

// Files implements Folder.
func (d Dir) Files() ([]File, error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	var list []File
	for _, e := range entries {
		f, ok := parseName(e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		st, err := e.Info()
		if err != nil {
			continue // it was replaced or deleted just now
		}
		f.Size, f.Time = st.Size(), st.ModTime().UnixNano()
		list = append(list, f)
	}
	return list, nil
}

var fileName = regexp.MustCompile(`^(?:(.+)_)?step_(\d{1,12})\.jsonl$`)

// parseName reads step_<n>.jsonl and <prefix>_<taskset>_step_<n>.jsonl.
func parseName(name string) (f File, ok bool) {
	m := fileName.FindStringSubmatch(name)
	if m == nil {
		return f, false
	}
	f.Name = name
	f.Step, _ = strconv.Atoi(m[2])
	if m[1] != "" {
		f.Set = strings.TrimPrefix(m[1], "eval_")
	}
	return f, true
}

// Scan implements Folder.
func (d Dir) Scan(ctx context.Context, f File) (*Segment, error) {
	return Scan(ctx, filepath.Join(string(d), f.Name), f.Name)
}

// Open implements Folder.
func (d Dir) Open(f File) (Opened, error) {
	file, err := os.Open(filepath.Join(string(d), f.Name))
	if err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	return lines{file}, nil
}

type lines struct{ *os.File }

// Read implements Opened.
func (l lines) Read(row *Row, part Span, buf []byte) ([]byte, error) {
	if part.Len < 0 || part.Len > maxLine {
		return nil, errDamaged
	}
	if cap(buf) < int(part.Len) {
		buf = make([]byte, part.Len)
	}
	buf = buf[:part.Len]
	if _, err := l.ReadAt(buf, row.Offset+int64(part.At)); err != nil {
		return nil, fmt.Errorf("rollout: %s was changed while it was read: %w", l.Name(), err)
	}
	return buf, nil
}
