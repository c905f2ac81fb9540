package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Aside is a part of a log that Repair could not keep.
type Aside struct {
	At    int64 // offset in the original file
	Bytes int64
	Why   string
}

// String describes the part.
func (a Aside) String() string { return fmt.Sprintf("%d bytes at byte %d: %s", a.Bytes, a.At, a.Why) }

// soundRecord is one sound record of a log that was read.
type soundRecord struct {
	kind    byte
	payload []byte
}

// Repair rewrites a log, which must not be open, with the sound records that each accepts. The rest is kept for
// inspection in <path>.aside and returned. A log without damage is not changed.
func Repair(path string, o Options, each func(kind byte, payload []byte) error) (aside []Aside, err error) {
	o = o.withDefaults()
	last, err := readMark(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("wal: %w", err)
	}
	l := &Log{path: path, opts: o}
	if l.zip, err = newCodec(o.Limit); err != nil {
		return nil, err
	}
	defer l.zip.close()
	records, aside := l.salvage(data, each)
	if _, err := readHeader(data); errors.Is(err, errForeign) && len(records) == 0 {
		return nil, fmt.Errorf("wal: %s %w", path, err)
	}
	if missing := last.size - int64(len(data)); missing > 0 {
		aside = append(aside, Aside{int64(len(data)), missing, "missing: the file was cut"})
	}
	if len(aside) == 0 {
		return nil, nil
	}
	if err := keepAside(o.FS, path, data, aside); err != nil {
		return nil, err
	}
	l.generation = max(l.generation, last.generation)
	err = l.replace(func(add func(byte, []byte) error) error {
		var errs []error
		for _, r := range records {
			errs = append(errs, add(r.kind, r.payload))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return nil, err
	}
	if err := l.reopen(); err != nil {
		return nil, err
	}
	return aside, l.closeFiles()
}

// salvage returns the sound records of a file and the parts between them.
func (l *Log) salvage(data []byte, each func(kind byte, payload []byte) error) (records []soundRecord, aside []Aside) {
	rest := data
	if generation, err := readHeader(data); err == nil {
		l.generation, rest = generation, data[headerSize:]
	}
	hole := -1 // start of the current damage
	fill := func(to int) {
		if hole >= 0 {
			aside = append(aside, Aside{int64(hole), int64(to - hole), "damaged"})
		}
		hole = -1
	}
	for len(rest) > 0 {
		at := len(data) - len(rest)
		f, after, ok := next(rest)
		if !ok {
			if hole < 0 {
				hole = at
			}
			rest = rest[1:]
			continue
		}
		fill(at)
		kind, payload, err := l.zip.unpack(f.body)
		if err == nil {
			err = each(kind, payload)
		}
		if err != nil {
			aside = append(aside, Aside{int64(at), int64(len(rest) - len(after)), err.Error()})
		} else {
			records = append(records, soundRecord{kind, payload})
		}
		rest = after
	}
	fill(len(data))
	return records, aside
}

// keepAside writes the bytes that are set aside to a file for inspection.
func keepAside(dfs disk.FS, path string, data []byte, aside []Aside) error {
	var kept []byte
	for _, a := range aside {
		if a.At < int64(len(data)) {
			kept = append(kept, data[a.At:min(a.At+a.Bytes, int64(len(data)))]...)
		}
	}
	return disk.WriteFile(dfs, path+".aside", kept)
}
