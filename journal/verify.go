package journal

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Verify reads every snapshot and log segment of the journal in dir, without changing or running anything, and tells seen
// what it found. The error joins all damage; a torn record at the end of the log is none, as the next start cuts it off.
func Verify(dir string, seen func(line string)) error {
	paths, err := snapshots(dir)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	var errs []error
	buried, err := filepath.Glob(filepath.Join(dir, "model-*.gone"))
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for _, path := range buried {
		t, err := readTombstone(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		seen(fmt.Sprintf("%s: model %s, unloaded", path, t.Created.ModelID))
	}
	for _, path := range paths {
		t, _, closeFile, err := readSnapshot(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		closeFile()
		seen(fmt.Sprintf("%s: model %s up to request %d, %d results, numerics %s", path, t.Created.ModelID, t.Applied, len(t.Results), t.Numerics))
	}
	return errors.Join(append(errs, verifyLog(dir, seen))...)
}

func verifyLog(dir string, seen func(string)) error {
	paths, err := filepath.Glob(filepath.Join(dir, "log-*.seg"))
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	sort.Strings(paths)
	c, err := newCodec()
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer c.close()
	w := &wal{fs: disk.OS(), dir: dir, codec: c}
	w.cond = sync.NewCond(&w.mu)
	j := &Journal{log: w}
	var errs []error
	for i, path := range paths {
		var records []any
		var results []result
		seg := segment{path: path, maxSeq: map[string]int64{}}
		size, err := w.read(path, i == len(paths)-1, func(kind recordKind, payload []byte) error {
			return j.readRecord(kind, payload, seg, &records, &results)
		})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		seen(fmt.Sprintf("%s: %d sound bytes, %d requests, %d results", path, size, len(records), len(results)))
	}
	return errors.Join(errs...)
}
