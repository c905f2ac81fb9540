package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// wal is the log: numbered segments, of which the last is written. Appending fills a buffer; sync writes and fsyncs what
// was appended before it, and whoever comes while an fsync runs shares the next one.
type wal struct {
	fs       disk.FS
	dir      string
	codec    *codec
	numerics string
	limit    int64
	synced   func(time.Duration)

	mu      sync.Mutex
	cond    *sync.Cond
	buf     []byte // appended, not yet written
	end     int64  // bytes appended since open
	durable int64  // of them, fsynced
	syncing bool
	err     error // the log cannot be written any more

	f       disk.File
	ordinal int
	size    int64            // bytes in the current segment that are known to be sound
	maxSeq  map[string]int64 // per model, the last SeqID of an operation in the current segment
	old     []segment        // closed segments, oldest first
}

type segment struct {
	path   string
	maxSeq map[string]int64
	bytes  int64
}

func (w *wal) segmentPath(n int) string { return filepath.Join(w.dir, fmt.Sprintf(segmentName, n)) }

// start opens segment ordinal for appending, with its header if it is new (size 0).
func (w *wal) start(ordinal int, size int64) error {
	path := w.segmentPath(ordinal)
	f, err := w.fs.Append(path)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	w.f, w.ordinal, w.size, w.maxSeq = f, ordinal, size, map[string]int64{}
	if size > 0 {
		return nil
	}
	head, err := w.codec.encode(nil, recHeader, header{Version: version, Numerics: w.numerics})
	if err == nil {
		_, err = f.Write(head)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = w.fs.SyncDir(w.dir)
	}
	if err != nil {
		return fmt.Errorf("journal: start %s: %w", path, err)
	}
	w.size = int64(len(head))
	return nil
}

// append adds a record to the buffer and returns the position to sync up to.
func (w *wal) append(kind recordKind, v any) (int64, error) {
	rec, err := w.codec.encode(nil, kind, v)
	if err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	w.buf = append(w.buf, rec...)
	w.end += int64(len(rec))
	switch v := v.(type) {
	case operation:
		w.maxSeq[v.ModelID] = max(w.maxSeq[v.ModelID], v.SeqID)
	case created:
		w.maxSeq[v.ModelID] = max(w.maxSeq[v.ModelID], 0) // until there is a snapshot
	case unloaded:
		w.maxSeq[v.ModelID] = never // until its tombstone stands
	}
	return w.end, nil
}

// sync returns when everything up to position at is durable. One caller writes for all who wait.
func (w *wal) sync(at int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.durable < at {
		if w.err != nil {
			return w.err
		}
		if w.syncing {
			w.cond.Wait()
			continue
		}
		w.syncing = true
		buf, end := w.buf, w.end
		w.buf = nil
		w.mu.Unlock()
		begun := time.Now()
		err := w.write(buf)
		w.synced(time.Since(begun))
		w.mu.Lock()
		w.syncing = false
		if err != nil {
			w.fail(err)
		} else {
			w.durable = end
			w.size += int64(len(buf))
		}
		w.cond.Broadcast()
	}
	return w.err
}

func (w *wal) write(buf []byte) error {
	if _, err := w.f.Write(buf); err != nil {
		return err
	}
	return w.f.Sync()
}

// fail cuts a half-written record off and ends the log: what was accepted stays sound for the next start.
func (w *wal) fail(err error) {
	path := w.segmentPath(w.ordinal)
	w.fs.Truncate(path, w.size)
	w.err = fmt.Errorf("journal: write %s: %w (free some space and start again: everything accepted so far is safe)", path, err)
}

// rotate closes the current segment and starts the next one.
func (w *wal) rotate() error {
	w.mu.Lock()
	at := w.end
	w.mu.Unlock()
	if err := w.sync(at); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.syncing {
		w.cond.Wait()
	}
	if w.err != nil {
		return w.err
	}
	closed, f := segment{w.segmentPath(w.ordinal), w.maxSeq, w.size}, w.f
	pending := w.buf // appended meanwhile; their operations belong to the next segment, and counting them to both is harmless
	if err := w.start(w.ordinal+1, 0); err != nil {
		w.f = f
		w.err = err
		return err
	}
	w.buf = pending
	if len(pending) > 0 {
		for id, seq := range closed.maxSeq {
			w.maxSeq[id] = seq
		}
	}
	w.old = append(w.old, closed)
	return f.Close()
}

func (w *wal) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size > w.limit
}

// closedBytes is the length of the closed segments.
func (w *wal) closedBytes() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := int64(0)
	for _, s := range w.old {
		n += s.bytes
	}
	return n
}

// holders are the models because of which the oldest closed segment is still there.
func (w *wal) holders(applied map[string]int64) (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.old) == 0 {
		return nil
	}
	for id, seq := range w.old[0].maxSeq {
		if applied[id] < seq {
			ids = append(ids, id)
		}
	}
	return ids
}

// compact removes the oldest closed segments whose operations all lie in snapshots.
func (w *wal) compact(applied map[string]int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.old) > 0 {
		for id, seq := range w.old[0].maxSeq {
			if at, ok := applied[id]; !ok || at < seq {
				return nil
			}
		}
		if err := w.fs.Remove(w.old[0].path); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		w.old = w.old[1:]
	}
	return nil
}

func (w *wal) close() error {
	w.mu.Lock()
	at := w.end
	w.mu.Unlock()
	err := w.sync(at)
	if cerr := w.f.Close(); err == nil {
		err = cerr
	}
	w.codec.close()
	return err
}

// read hands every record of a segment to each, in order, and returns how many bytes are sound. Damage is an error unless
// last: then the rest, which nobody was promised, is left out.
func (w *wal) read(path string, last bool, each func(kind recordKind, payload []byte) error) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("journal: %w", err)
	}
	rest := data
	for len(rest) > 0 {
		kind, payload, r, ok := next(rest)
		at := int64(len(data) - len(rest))
		if !ok {
			if last && torn(rest) {
				return at, nil
			}
			return at, fmt.Errorf("journal: %s is damaged at byte %d; restore the file from a backup, or remove the journal to begin anew", path, at)
		}
		if err := each(kind, payload); err != nil {
			return at, fmt.Errorf("journal: %s, record at byte %d: %w", path, at, err)
		}
		rest = r
	}
	return int64(len(data)), nil
}

// torn reports whether a rest that is no record can be the trace of an interrupted append: no sound record follows it.
func torn(rest []byte) bool {
	for i := 1; i+recordHead < len(rest); i++ {
		if _, _, _, ok := next(rest[i:]); ok && !bytes.Equal(rest[i:i+recordHead], make([]byte, recordHead)) {
			return false
		}
	}
	return true
}
