package buffer

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Copy keeps the experiences of explore steps beside what is trained on, once however often a step comes.
type Copy interface {
	Put(ctx context.Context, step int, list []*experience.Experience) error
	Close() error
}

// CopyOptions say where a Copy is kept and under which names.
type CopyOptions struct {
	FS     disk.FS
	Key    string // of Path in the configuration, for errors
	Path   string // a file of JSON lines, or the URL of a database
	Table  string // in a database
	State  string // the file that notes what a file has
	Suffix string // before a file's extension: other explorers keep copies beside this one
	Writer string // tells jobs and explorers apart that keep their own in one table
}

// OpenCopy opens a File, or for the URL of a database a table.
func OpenCopy(ctx context.Context, o CopyOptions) (Copy, error) {
	if strings.Contains(o.Path, "://") {
		return openTableCopy(ctx, o)
	}
	ext := filepath.Ext(o.Path)
	if ext != ".jsonl" && ext != ".json" {
		return nil, fmt.Errorf("buffer: %s %s: experiences are kept as JSON lines or in a database; name a .jsonl "+
			"file or the URL of a database", o.Key, o.Path)
	}
	f, err := OpenFile(o.FS, strings.TrimSuffix(o.Path, ext)+o.Suffix+ext, o.State)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// tableCopy is a table that one writer adds to.
type tableCopy struct {
	*SQL
	writer string
}

func openTableCopy(ctx context.Context, o CopyOptions) (Copy, error) {
	if err := makeFolder(o.FS, o.Path); err != nil {
		return nil, err
	}
	s, err := OpenSQL(ctx, o.Path, o.Table, SQLOptions{Retries: 3, Pause: time.Second, FS: o.FS})
	if err != nil {
		return nil, err
	}
	return tableCopy{s, o.Writer}, nil
}

// Put implements Copy.
func (t tableCopy) Put(ctx context.Context, step int, list []*experience.Experience) error {
	return t.SQL.Put(ctx, t.writer, step, list)
}
