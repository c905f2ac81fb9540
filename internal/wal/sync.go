package wal

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"time"
)

// retryAfter is how long Await waits after a failed write before it tries again.
const retryAfter = time.Second

// Sync returns when everything up to position at is durable. Callers that arrive while an fsync runs share the next
// one. After an error the records are kept and the next Sync tries again, unless Options.Drop says otherwise.
func (l *Log) Sync(at int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.durable < at {
		if l.closed {
			return fmt.Errorf("wal: %s: %w", l.path, fs.ErrClosed)
		}
		if !l.syncing {
			if err := l.commit(); err != nil {
				return err
			}
			continue
		}
		l.cond.Wait()
		if !l.opts.Drop && l.stalled != nil && l.durable < at {
			return l.stalled
		}
	}
	for _, d := range l.dropped {
		if d.from < at && at <= d.to {
			return d.err
		}
	}
	return nil
}

// droppedRange is the records after position from up to position to, which were lost with err.
type droppedRange struct {
	from, to int64
	err      error
}

// commit writes the appended records with one fsync. l.mu is held, and released during the write.
func (l *Log) commit() error {
	l.syncing = true
	buf, end := l.buf, l.end
	l.buf = nil
	l.batch++
	l.mu.Unlock()
	begun := time.Now()
	err := l.write(buf)
	l.opts.Synced(time.Since(begun))
	l.mu.Lock()
	l.syncing = false
	l.cond.Broadcast()
	if err == nil {
		l.durable, l.stalled = end, nil
		l.size += int64(len(buf))
		l.mark.note(l.generation, l.size) // a lost mark only weakens the check of the length
		return nil
	}
	l.ragged = true
	l.stalled = fmt.Errorf("wal: write %s: %w (accepted records are safe; free some space)", l.path, err)
	if l.opts.Drop {
		l.dropped = append(l.dropped, droppedRange{l.durable, end, l.stalled})
		l.durable = end
	} else {
		l.buf = append(buf, l.buf...)
		renumber(l.buf, l.batch)
	}
	return l.stalled
}

// renumber gives all records in buf the number of one write.
func renumber(buf []byte, batch uint32) {
	for len(buf) > 0 {
		binary.LittleEndian.PutUint32(buf[4:], batch)
		binary.LittleEndian.PutUint32(buf[12:], sum(buf[:12]))
		buf = buf[frameSize+binary.LittleEndian.Uint32(buf):]
	}
}

// write appends to the file, after it has followed a swap and cut off the rest of a failed write.
func (l *Log) write(buf []byte) error {
	if err := l.follow(); err != nil {
		return err
	}
	if l.ragged {
		if err := l.opts.FS.Truncate(l.path, l.size); err != nil {
			return err
		}
		l.ragged = false
	}
	if len(buf) == 0 {
		return nil
	}
	_, err := l.f.Write(buf)
	if err == nil {
		err = l.f.Sync()
	}
	return err
}

// Heal returns nil when the log accepts records. After a failed write it tries again.
func (l *Log) Heal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.syncing && l.stalled != nil { // a write under way says whether it has healed
		l.cond.Wait()
	}
	if l.stalled == nil || l.closed {
		return nil
	}
	return l.commit()
}

// Await is Sync that repeats until it succeeds, ctx ends or the log is closed.
func (l *Log) Await(ctx context.Context, at int64) error {
	for {
		err := l.Sync(at)
		if err == nil || l.isClosed() {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(retryAfter):
		}
	}
}

func (l *Log) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}
