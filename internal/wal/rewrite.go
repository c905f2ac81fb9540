package wal

import (
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
	if err := l.swap(write); err != nil {
		return err
	}
	l.buf, l.ragged, l.swapped = nil, false, true // the new file has what was not written yet
	if err := l.follow(); err != nil {
		l.stalled = err
		return err
	}
	l.durable, l.stalled = l.end, nil
	l.cond.Broadcast()
	return nil
}

// follow opens the file that a swap has put in the place of the open one, and makes its name durable.
func (l *Log) follow() error {
	if !l.swapped {
		return nil
	}
	if err := l.syncName(); err != nil {
		return err
	}
	old, marks := l.f, l.mark
	if err := l.reopen(); err != nil {
		return err
	}
	l.swapped = false
	old.Close() // nobody reads it any more
	marks.close()
	return nil
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
