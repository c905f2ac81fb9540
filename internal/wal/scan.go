package wal

import (
	"errors"
	"fmt"
	"os"
)

// errTorn is the error of an incomplete end of a file, which a crash can leave.
var errTorn = errors.New("torn")

// scanned is the result of scanning a file.
type scanned struct {
	generation uint64
	batch      uint32 // of the last sound record
	records    int
	sound      int64 // bytes up to the end of the last sound record; 0 if even the header is incomplete
}

// scan calls each with every record of a file and returns the end of the sound bytes. The rest is torn; damage is an
// error.
func scan(path string, data []byte, last markContents, zip *codec,
	each func(kind byte, payload []byte) error) (s scanned, err error) {
	generation, err := readHeader(data)
	switch {
	case errors.Is(err, errTorn) && last.size <= int64(len(data)):
		return s, nil
	case errors.Is(err, errTorn):
		return s, lost(path, int64(len(data)), last)
	case err != nil:
		return s, fmt.Errorf("wal: %s %w", path, err)
	case last.generation > generation:
		return s, fmt.Errorf("wal: %s is of generation %d, and generation %d was there before: an old copy has taken "+
			"its place; restore the newer one, or remove %s to continue with this "+
			"one", path, generation, last.generation, markPath(path))
	}
	s.generation, s.batch, s.sound = generation, 1, int64(headerSize)
	for rest := data[headerSize:]; len(rest) > 0; {
		f, after, ok := next(rest)
		if !ok {
			if !torn(rest, s.batch) {
				return s,
					fmt.Errorf("wal: %s is damaged at byte %d; restore it from a backup, or set the damage aside "+
						"(trinity serve --verify --repair)", path, s.sound)
			}
			break
		}
		kind, payload, err := zip.unpack(f.body)
		if err == nil {
			err = each(kind, payload)
		}
		if err != nil {
			return s, fmt.Errorf("wal: %s, record at byte %d: %w", path, s.sound, err)
		}
		s.sound += int64(len(rest) - len(after))
		s.batch, rest = f.batch, after
		s.records++
	}
	if last.generation == generation && s.sound < last.size {
		return s, lost(path, s.sound, last)
	}
	return s, nil
}

func lost(path string, sound int64, last markContents) error {
	return fmt.Errorf("wal: %s is damaged: it has %d sound bytes, and %d were durable, so records that were promised "+
		"are missing; restore it from a backup, or remove %s to continue without "+
		"them", path, sound, last.size, markPath(path))
}

// torn reports whether a rest that is not a record can be part of an interrupted write, the one after batch. Parts of
// one write may reach the disk in any order; a record of a later write proves that this one was complete.
func torn(rest []byte, batch uint32) bool {
	for i := 1; i+frameSize < len(rest); i++ {
		if f, _, ok := next(rest[i:]); ok && f.batch > batch+1 {
			return false
		}
	}
	return true
}

// Report is the result of Check.
type Report struct {
	Records int
	Sound   int64 // bytes
	Torn    int64 // bytes at the end that the next start cuts off
}

// Check reads a log without changing it.
func Check(path string, o Options, each func(kind byte, payload []byte) error) (Report, error) {
	o = o.withDefaults()
	zip, err := newCodec(o.Limit)
	if err != nil {
		return Report{}, err
	}
	defer zip.close()
	last, err := readMark(path)
	if err != nil {
		return Report{}, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Report{}, fmt.Errorf("wal: %w", err)
	}
	s, err := scan(path, data, last, zip, each)
	return Report{Records: s.records, Sound: s.sound, Torn: int64(len(data)) - s.sound}, err
}
