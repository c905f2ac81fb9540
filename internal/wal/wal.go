// Package wal is a write-ahead log in one file: records are appended, made durable together, and read again at the
// next start.
//
// A file is a header (format.go) and records. Concurrent callers of Sync share one fsync. An unfinished record at
// the end, which a crash leaves behind, is cut off and reported. Any other damage is an error that names the file,
// and so is a file that has lost durable records (mark.go). The writer refuses a record that the reader would
// refuse.
package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// maxPayload is the default limit of one record's payload, bytes, for writers and readers.
const maxPayload = 1 << 30

// ErrTooLarge means that a payload is longer than the limit. Nothing was appended.
var ErrTooLarge = errors.New("record too large")

// Options configure a log. The zero value is the default.
type Options struct {
	FS     disk.FS
	Limit  int                 // longest payload, bytes; default MaxPayload
	Synced func(time.Duration) // called with the duration of each write to the disk; may be nil
	Notice func(msg string)    // called with a message about a cut; may be nil
	// Drop forgets the records of a failed write, whose Sync reports the error. Otherwise they stay, in their order,
	// and the next Sync writes them again.
	Drop bool
}

func (o Options) withDefaults() Options {
	o.FS = cmp.Or(o.FS, disk.OS())
	o.Limit = cmp.Or(o.Limit, maxPayload)
	if o.Synced == nil {
		o.Synced = func(time.Duration) {}
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	return o
}

// Log is an open write-ahead log. All methods are safe for concurrent use.
type Log struct {
	path string
	opts Options
	zip  *codec
	mark *mark

	mu         sync.Mutex
	cond       *sync.Cond
	f          disk.File
	generation uint64         // counts rewrites of the file
	batch      uint32         // of the records in buf; one batch is one write
	buf        []byte         // appended, not yet written
	end        int64          // bytes appended since Open
	durable    int64          // bytes of them that are fsynced
	size       int64          // sound, durable bytes of the file
	ragged     bool           // the file may be longer than size
	swapped    bool           // a rewrite has put the file at path, whose name is not durable yet
	cut        int64          // bytes of an unfinished write that opening cut off
	dropped    []droppedRange // records dropped by failed writes
	syncing    bool
	stalled    error // the last write failed
	closed     bool
}

// Open reads the log at path, creates it if there is none, and calls each with every record in order. each may keep
// payload.
func Open(path string, o Options, each func(kind byte, payload []byte) error) (*Log, error) {
	o = o.withDefaults()
	l := &Log{path: path, opts: o, batch: 1}
	l.cond = sync.NewCond(&l.mu)
	var err error
	if l.zip, err = newCodec(o.Limit); err != nil {
		return nil, err
	}
	if err := l.load(each); err != nil {
		l.zip.close()
		return nil, err
	}
	return l, nil
}

// load reads the file, cuts off a torn tail and opens the file for appending.
func (l *Log) load(each func(kind byte, payload []byte) error) error {
	last, err := readMark(l.path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && last.size > int64(headerSize):
		return fmt.Errorf("wal: %s is missing, and had %d bytes; restore it from a backup, or remove %s to start again",
			l.path, last.size, markPath(l.path))
	case errors.Is(err, fs.ErrNotExist):
		return l.create()
	case err != nil:
		return fmt.Errorf("wal: %w", err)
	}
	s, err := scan(l.path, data, last, l.zip, each)
	if err != nil {
		return err
	}
	if s.sound == 0 { // the crash came before the first header was complete
		return l.create()
	}
	l.generation, l.batch, l.size = s.generation, s.batch+1, s.sound
	if cut := int64(len(data)) - s.sound; cut > 0 {
		l.cut = cut
		l.opts.Notice(cutOff(l.path, cut, s.sound))
		if err := l.opts.FS.Truncate(l.path, s.sound); err != nil {
			return fmt.Errorf("wal: %w", err)
		}
	}
	l.swapped = true // perhaps by a process that was killed before the name was durable
	return l.follow()
}

func cutOff(path string, n, at int64) string {
	return fmt.Sprintf("%s: cut off %d bytes at byte %d: an unfinished write, which was not promised", path, n, at)
}

// create makes the file with only its header.
func (l *Log) create() error {
	if err := l.replace(func(func(byte, []byte) error) error { return nil }); err != nil {
		return err
	}
	return l.reopen()
}

// reopen opens the file for appending, makes what it has durable and starts its marks again. A killed process may have
// written records without an fsync; who has read them builds on them.
func (l *Log) reopen() error {
	f, err := l.opts.FS.Append(l.path)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	if err := f.Sync(); err != nil {
		return errors.Join(fmt.Errorf("wal: %w", err), f.Close())
	}
	m, err := newMark(l.opts.FS, l.path)
	if err == nil {
		err = m.note(l.generation, l.size)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.f, l.mark = f, m
	return nil
}

// Append adds a record and returns the position to Sync up to; until then it may be lost. A payload above the limit is
// ErrTooLarge.
func (l *Log) Append(kind byte, payload []byte) (int64, error) {
	body, err := l.zip.pack(kind, payload)
	if err != nil {
		return 0, fmt.Errorf("wal: %s: %w", l.path, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, fmt.Errorf("wal: %s: %w", l.path, fs.ErrClosed)
	}
	before := len(l.buf)
	l.buf = appendFrame(l.buf, l.batch, body)
	l.end += int64(len(l.buf) - before)
	return l.end, nil
}

// End is the position after the last record appended.
func (l *Log) End() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Cut is the number of bytes of an unfinished write that Open has cut off.
func (l *Log) Cut() int64 { return l.cut }

// Size is the length of the file including unwritten records, bytes.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size + int64(len(l.buf))
}

// Close writes the appended records and closes the file.
func (l *Log) Close() error {
	err := l.Sync(l.End())
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.syncing {
		l.cond.Wait()
	}
	if l.closed {
		return nil
	}
	l.closed = true
	l.zip.close()
	return errors.Join(err, l.closeFiles())
}

// Remove deletes the log at path, which must not be open. A missing one is no error. The marks are removed first, so
// that a crash never leaves marks without a log.
func Remove(dfs disk.FS, path string) error {
	dir := filepath.Dir(path)
	for _, name := range []string{markPath(path), path} {
		if err := dfs.Remove(name); err != nil {
			return fmt.Errorf("wal: %w", err)
		}
		if err := dfs.SyncDir(dir); err != nil {
			return fmt.Errorf("wal: %w", err)
		}
	}
	return nil
}
