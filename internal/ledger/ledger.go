// Package ledger is a small durable log: records are appended to one file, fsynced together, read again at the next start,
// and now and then replaced by what is still worth keeping.
//
// A file is a header and records. A record is: length of kind and payload (uint32), crc32c of them (uint32), kind (1 byte),
// payload (zstd); little endian. A torn record at the end, which nobody was promised, is cut off; any other damage is an error
// that names the file.
package ledger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

const (
	header    = "TRNLEDG1"
	frame     = 8
	maxRecord = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Log is an open ledger. All methods are safe for concurrent use.
type Log struct {
	fs   disk.FS
	path string
	enc  *zstd.Encoder
	dec  *zstd.Decoder
	// Synced, if set before the first Append, is told how long each fsync took.
	Synced func(time.Duration)

	mu      sync.Mutex
	cond    *sync.Cond
	f       disk.File
	buf     []byte // appended, not yet written
	end     int64  // position behind the last record, counted since Open
	durable int64  // everything before it is fsynced
	size    int64  // sound bytes in the file
	syncing bool
	err     error // the log can no longer be written
}

// Open reads the ledger at path, making it if there is none, and hands every record to each in order. payload is each's to keep.
func Open(dfs disk.FS, path string, each func(kind byte, payload []byte) error) (*Log, error) {
	l := &Log{fs: dfs, path: path}
	l.cond = sync.NewCond(&l.mu)
	var err error
	if l.enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest)); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if l.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRecord)); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if l.size, err = l.read(each); errors.Is(err, fs.ErrNotExist) {
		err = l.Rewrite(func(func(byte, []byte)) {})
		return l, err
	}
	if err != nil {
		return nil, err
	}
	if err := dfs.Truncate(path, l.size); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if l.f, err = dfs.Append(path); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return l, nil
}

// Check reads a ledger without changing it; a torn end is reported as an error too.
func Check(path string, each func(kind byte, payload []byte) error) error {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRecord))
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer dec.Close()
	l := &Log{path: path, dec: dec}
	sound, err := l.read(each)
	if err != nil {
		return err
	}
	if st, err := os.Stat(path); err != nil || st.Size() != sound {
		return fmt.Errorf("ledger: %s ends in a torn record at byte %d; the next start cuts it off (%w)", path, sound, errors.Join(err, io.ErrUnexpectedEOF))
	}
	return nil
}

// read hands out the records and returns how many bytes are sound.
func (l *Log) read(each func(kind byte, payload []byte) error) (int64, error) {
	data, err := os.ReadFile(l.path)
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	if !bytes.HasPrefix(data, []byte(header)) {
		return 0, fmt.Errorf("ledger: %s does not begin with %q: it is damaged or of another version; restore it from a backup, or move it away to begin anew", l.path, header)
	}
	rest := data[len(header):]
	for len(rest) > 0 {
		at := int64(len(data) - len(rest))
		body, r, ok := next(rest)
		if !ok {
			if torn(rest) {
				return at, nil
			}
			return at, fmt.Errorf("ledger: %s is damaged at byte %d; restore it from a backup, or move it away to begin anew", l.path, at)
		}
		payload, err := l.dec.DecodeAll(body[1:], nil)
		if err == nil {
			err = each(body[0], payload)
		}
		if err != nil {
			return at, fmt.Errorf("ledger: %s, record at byte %d: %w", l.path, at, err)
		}
		rest = r
	}
	return int64(len(data)), nil
}

// next splits the first record off; ok is false when there is no whole, sound one.
func next(data []byte) (body, rest []byte, ok bool) {
	if len(data) < frame+1 {
		return nil, data, false
	}
	n := uint64(binary.LittleEndian.Uint32(data))
	if n < 1 || n > maxRecord || uint64(len(data)-frame) < n {
		return nil, data, false
	}
	body = data[frame : frame+n]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(data[4:]) {
		return nil, data, false
	}
	return body, data[frame+n:], true
}

// torn reports whether what is no record can be an interrupted append: no sound record follows it.
func torn(rest []byte) bool {
	for i := 1; i+frame < len(rest); i++ {
		if _, _, ok := next(rest[i:]); ok {
			return false
		}
	}
	return true
}

func (l *Log) encode(dst []byte, kind byte, payload []byte) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, frame)...)
	dst = append(dst, kind)
	dst = l.enc.EncodeAll(payload, dst)
	body := dst[at+frame:]
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(body)))
	binary.LittleEndian.PutUint32(dst[at+4:], crc32.Checksum(body, castagnoli))
	return dst
}

// Append adds a record and returns the position to Sync up to. Until then it may be lost.
func (l *Log) Append(kind byte, payload []byte) (int64, error) {
	rec := l.encode(nil, kind, payload)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	l.buf = append(l.buf, rec...)
	l.end += int64(len(rec))
	return l.end, nil
}

// End is the position after the last record appended.
func (l *Log) End() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Sync returns when everything up to position at is on the disk. Whoever comes while an fsync runs shares the next one.
func (l *Log) Sync(at int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.durable < at {
		if l.err != nil {
			return l.err
		}
		if l.syncing {
			l.cond.Wait()
			continue
		}
		l.syncing = true
		buf, end := l.buf, l.end
		l.buf = nil
		l.mu.Unlock()
		start := time.Now()
		_, err := l.f.Write(buf)
		if err == nil {
			err = l.f.Sync()
		}
		took := time.Since(start)
		l.mu.Lock()
		l.syncing = false
		if err != nil {
			l.fail(err)
		} else {
			l.durable = end
			l.size += int64(len(buf))
		}
		if l.Synced != nil {
			l.Synced(took)
		}
		l.cond.Broadcast()
	}
	return nil
}

// fail cuts a half-written record off and ends the log. l.mu is held.
func (l *Log) fail(err error) {
	l.fs.Truncate(l.path, l.size)
	l.err = fmt.Errorf("ledger: write %s: %w (free some space and start again: everything accepted so far is safe)", l.path, err)
}

// Size is the length of the file with what is to be written, bytes.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size + int64(len(l.buf))
}

// Rewrite replaces the content by the records that write adds. These must stand for everything appended so far; nobody may
// append meanwhile.
func (l *Log) Rewrite(write func(add func(kind byte, payload []byte))) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.syncing {
		l.cond.Wait()
	}
	if l.err != nil {
		return l.err
	}
	size := int64(0)
	err := disk.Replace(l.fs, l.path, func(w io.Writer) error {
		n, err := io.WriteString(w, header)
		size = int64(n)
		write(func(kind byte, payload []byte) {
			if err == nil {
				n, err = w.Write(l.encode(nil, kind, payload))
				size += int64(n)
			}
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	f, err := l.fs.Append(l.path)
	if err != nil {
		l.err = fmt.Errorf("ledger: %w", err)
		return l.err
	}
	if l.f != nil {
		l.f.Close()
	}
	l.f, l.size, l.buf, l.durable = f, size, nil, l.end
	l.cond.Broadcast()
	return nil
}

// Close writes what was appended and closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	at := l.end
	l.mu.Unlock()
	err := l.Sync(at)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = errors.New("ledger: closed")
	}
	l.enc.Close()
	l.dec.Close()
	return errors.Join(err, l.f.Close())
}
