package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Rewrite replaces the contents by the records that write adds, which must be equivalent to everything appended so
// far. No other goroutine may append meanwhile. After an error either the old contents are there or the new ones; the
// next Sync then finishes the work before anything is durable.
func (l *Log) Rewrite(write func(add func(kind byte, payload []byte) error) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.syncing {
		l.cond.Wait()
	}
	if l.closed {
		return fmt.Errorf("wal: %s: %w", l.path, fs.ErrClosed)
	}
	closing := l.closeFiles() // Windows replaces no open file
	swapping := l.swap(write)
	if swapping == nil {
		l.buf, l.ragged, l.swapped = nil, false, true // the new file has what was not written yet
	}
	opening := l.follow()
	switch {
	case opening != nil:
		l.stalled = opening // the next write tries again
	case swapping == nil:
		l.durable, l.stalled = l.end, nil
	}
	l.cond.Broadcast()
	return errors.Join(closing, swapping, opening)
}

// follow makes the name of a file durable that a rewrite has put in the place of another, and opens the file.
func (l *Log) follow() error {
	if l.swapped {
		if err := l.syncName(); err != nil {
			return err
		}
		l.swapped = false
	}
	if l.f != nil {
		return nil
	}
	return l.reopen()
}

// closeFiles closes the file and its marks, unless they are.
func (l *Log) closeFiles() error {
	if l.f == nil {
		return nil
	}
	f, m := l.f, l.mark
	l.f, l.mark = nil, nil
	return errors.Join(f.Close(), m.close())
}

// replace replaces the file by one of the next generation with the records that write adds, and makes it durable.
func (l *Log) replace(write func(add func(kind byte, payload []byte) error) error) error {
	if err := l.swap(write); err != nil {
		return err
	}
	return l.syncName()
}

// swap is replace, but a power loss may still undo it.
func (l *Log) swap(write func(add func(kind byte, payload []byte) error) error) error {
	generation, size := l.generation+1, int64(0)
	err := disk.Swap(l.opts.FS, l.path, func(w io.Writer) error {
		n, err := w.Write(appendHeader(nil, generation))
		if size = int64(n); err != nil {
			return err
		}
		return write(func(kind byte, payload []byte) error {
			body, err := l.zip.pack(kind, payload)
			if err != nil {
				return err
			}
			n, err := w.Write(appendFrame(nil, 1, body))
			size += int64(n)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	l.generation, l.size, l.batch = generation, size, 2
	return nil
}

// syncName makes the file's name durable.
func (l *Log) syncName() error {
	if err := l.opts.FS.SyncDir(filepath.Dir(l.path)); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}
