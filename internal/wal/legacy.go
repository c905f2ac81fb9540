package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Legacy is a format of records from before this package. Its zero value is none.
type Legacy struct {
	// Magic is the beginning of a file; "" means that a file begins with its first record.
	Magic string
	// HeadSum says that a record's head has a checksum of its own after that of the body.
	HeadSum bool
	// Plain says that a body is a payload without compression and without a kind; its kind is Kind.
	Plain bool
	Kind  byte
	known bool
}

// The formats of older versions.
var (
	// LegacyJournal is the format of the journal's segments: length, crc32c, kind, payload.
	LegacyJournal = Legacy{known: true}
	// LegacyLedger is the format of the server's log.
	LegacyLedger = Legacy{Magic: "TRNLEDG1", known: true}
)

// LegacyStore is the format of stored groups; each becomes a record of that kind.
func LegacyStore(kind byte) Legacy {
	return Legacy{HeadSum: true, Plain: true, Kind: kind, known: true}
}

// matches reports whether a file is of the format: it begins with the magic, or with a sound record.
func (g Legacy) matches(data []byte) bool {
	if !g.known || bytes.HasPrefix(data, []byte(magic)) {
		return false
	}
	if g.Magic != "" {
		return bytes.HasPrefix(data, []byte(g.Magic))
	}
	_, _, ok := g.next(data)
	return ok
}

func (g Legacy) head() int {
	if g.HeadSum {
		return 12
	}
	return 8
}

// next splits the first record off data.
func (g Legacy) next(data []byte) (body, rest []byte, ok bool) {
	h := g.head()
	if len(data) <= h {
		return nil, data, false
	}
	if g.HeadSum && binary.LittleEndian.Uint32(data[8:]) != sum(data[:8]) {
		return nil, data, false
	}
	n := uint64(binary.LittleEndian.Uint32(data))
	if n < 1 || n > MaxPayload || uint64(len(data)-h) < n {
		return nil, data, false
	}
	body = data[h : uint64(h)+n]
	if sum(body) != binary.LittleEndian.Uint32(data[4:]) {
		return nil, data, false
	}
	return body, data[uint64(h)+n:], true
}

// torn reports whether a rest that is not a record can be an interrupted write: no sound record follows it.
func (g Legacy) torn(rest []byte) bool {
	for i := 1; i+g.head() < len(rest); i++ {
		if _, _, ok := g.next(rest[i:]); ok {
			return false
		}
	}
	return true
}

// read calls each with the records of a file.
func (g Legacy) read(path string, data []byte, zip *codec, each func(kind byte, payload []byte) error) (Report, error) {
	r := Report{Sound: int64(len(g.Magic))}
	for rest := data[len(g.Magic):]; len(rest) > 0; {
		body, after, ok := g.next(rest)
		if !ok {
			if !g.torn(rest) {
				return r, fmt.Errorf("wal: %s is damaged at byte %d; restore it from a backup", path, r.Sound)
			}
			break
		}
		kind, payload, err := g.Kind, bytes.Clone(body), error(nil)
		if !g.Plain {
			kind, payload, err = zip.unpack(body)
		}
		if err == nil {
			err = each(kind, payload)
		}
		if err != nil {
			return r, fmt.Errorf("wal: %s, record at byte %d: %w", path, r.Sound, err)
		}
		r.Records++
		r.Sound += int64(len(rest) - len(after))
		rest = after
	}
	r.Torn = int64(len(data)) - r.Sound
	return r, nil
}

// convert reads a file of an older version and replaces it by one of the current format. A kill leaves one or the
// other.
func (l *Log) convert(data []byte, each func(kind byte, payload []byte) error) error {
	var records []soundRecord
	report, err := l.opts.Legacy.read(l.path, data, l.zip, func(kind byte, payload []byte) error {
		records = append(records, soundRecord{kind, payload})
		return nil
	})
	if err != nil {
		return err
	}
	if report.Torn > 0 {
		l.cut = report.Torn
		l.opts.Notice(cutOff(l.path, report.Torn, report.Sound))
	}
	err = l.replace(func(add func(byte, []byte) error) error {
		var errs []error
		for _, r := range records {
			errs = append(errs, add(r.kind, r.payload))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return err
	}
	l.opts.Notice(fmt.Sprintf("%s: converted %d records to the current format", l.path, report.Records))
	for i, r := range records {
		if err := each(r.kind, r.payload); err != nil {
			return fmt.Errorf("wal: %s, record %d: %w", l.path, i, err)
		}
	}
	return l.reopen()
}
