package buffer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// JSONL appends one JSON value per line to a file: the readable copy of the experience buffer, or any other log of
// rows. It is safe for concurrent use.
type JSONL struct {
	mu   sync.Mutex
	file *disk.Grown
}

// OpenJSONL opens or makes a file, and its folder, for appending. It is first cut to keep bytes, what the last
// committed state says it had (Size), so that steps done again are not there twice; with keep < 0 only a last line that
// a crash left unfinished is cut.
func OpenJSONL(to disk.FS, path string, keep int64) (*JSONL, error) {
	if err := disk.MkdirAll(to, filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("buffer: cannot make the folder of %s: %w", path, err)
	}
	keep, err := kept(path, keep)
	if err != nil {
		return nil, err
	}
	f, err := disk.OpenGrown(to, path, keep)
	if err != nil {
		return nil, fmt.Errorf("buffer: cannot open %s: %w", path, err)
	}
	return &JSONL{file: f}, nil
}

// kept is how many bytes of a file stay.
func kept(path string, keep int64) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && keep <= 0 {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("buffer: cannot open %s: %w", path, err)
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, fmt.Errorf("buffer: cannot measure %s: %w", path, err)
	}
	if keep > end {
		return 0, fmt.Errorf("buffer: %s has %d bytes but %d were committed; it was changed from outside, restore or "+
			"move it", path, end, keep)
	}
	if keep < 0 {
		if keep, err = lastLineEnd(f, end); err != nil {
			return 0, fmt.Errorf("buffer: cannot read %s: %w", path, err)
		}
	}
	return keep, nil
}

// lastLineEnd is the offset after the last line feed in the first end bytes of f, or 0.
func lastLineEnd(f io.ReaderAt, end int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for end > 0 {
		n := min(end, int64(len(buf)))
		if _, err := f.ReadAt(buf[:n], end-n); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1, nil
		}
		end -= n
	}
	return 0, nil
}

// Write appends rows as one write; text is kept as it is, without escapes for HTML or other scripts.
func (w *JSONL) Write(rows ...any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, row := range rows {
		if err := enc.Encode(row); err != nil {
			return fmt.Errorf("buffer: row %d for %s is not JSON: %w", i, w.file.Path(), err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.file.Write(b.Bytes()); err != nil {
		return fmt.Errorf("buffer: cannot append to %s: %w", w.file.Path(), err)
	}
	return nil
}

// WriteExperiences appends the Record of each experience.
func (w *JSONL) WriteExperiences(list []*experience.Experience) error {
	rows := make([]any, len(list))
	for i, e := range list {
		rows[i] = e.Record()
	}
	return w.Write(rows...)
}

// Size is the number of bytes written so far, to be kept in a committed state.
func (w *JSONL) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.file.Size()
}

// Sync waits until the disk has everything written so far.
func (w *JSONL) Sync() error { return w.file.Sync() }

// Close closes the file.
func (w *JSONL) Close() error { return w.file.Close() }
