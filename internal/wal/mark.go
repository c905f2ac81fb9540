package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Each log has a file of marks, which records the length of the log after every write to the disk. Marks are not
// fsynced, so that one takes only microseconds. They survive a kill. After a power loss they may be missing, but none
// is larger than the durable length. So a log that is shorter than its last mark has lost promised records.
//
// A mark is: generation (uint64), size (uint64), crc32c of both (uint32).
type mark struct {
	fs   disk.FS
	path string
	f    disk.File
	n    int // marks in the file
}

const (
	markSize = 20
	maxMarks = 1 << 15 // then the file is started again
)

// markContents is the contents of a mark.
type markContents struct {
	generation uint64
	size       int64
}

func markPath(path string) string { return path + ".mark" }

// readMark returns the last sound mark of a log, the zero value if there is none.
func readMark(path string) (last markContents, err error) {
	data, err := os.ReadFile(markPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return last, nil
	}
	if err != nil {
		return last, fmt.Errorf("wal: %w", err)
	}
	for ; len(data) >= markSize; data = data[markSize:] {
		if binary.LittleEndian.Uint32(data[16:]) == sum(data[:16]) {
			last = markContents{binary.LittleEndian.Uint64(data), int64(binary.LittleEndian.Uint64(data[8:]))}
		}
	}
	return last, nil
}

// newMark starts the file of marks again.
func newMark(dfs disk.FS, path string) (*mark, error) {
	m := &mark{fs: dfs, path: markPath(path)}
	return m, m.begin()
}

func (m *mark) begin() (err error) {
	if m.f, err = m.fs.Create(m.path); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	m.n = 0
	return nil
}

func (m *mark) note(generation uint64, size int64) error {
	if m.n >= maxMarks {
		if err := errors.Join(m.f.Close(), m.begin()); err != nil {
			return err
		}
	}
	b := binary.LittleEndian.AppendUint64(nil, generation)
	b = binary.LittleEndian.AppendUint64(b, uint64(size))
	b = binary.LittleEndian.AppendUint32(b, sum(b))
	m.n++
	_, err := m.f.Write(b)
	return err
}

func (m *mark) close() error { return m.f.Close() }
