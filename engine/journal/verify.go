package journal

import (
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/wal"
)

// Verify reads every snapshot and log segment of the journal in dir, without changing or executing anything, and calls
// seen with its findings. The error joins all damage. An unfinished record at the end of the log is not damage: the
// next start cuts it off.
func Verify(dir string, seen func(line string)) error {
	paths, err := snapshots(dir)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	var errs []error
	buried, err := disk.Glob(dir, "model-*.gone")
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
		line, err := verifySnapshot(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		seen(line)
	}
	return errors.Join(append(errs, verifyLog(dir, seen))...)
}

func verifySnapshot(path string) (string, error) {
	s, err := openSnapshot(path)
	if err != nil {
		return "", err
	}
	defer s.close()
	results, err := s.kept()
	if err == nil {
		_, err = s.machine()
	}
	return fmt.Sprintf("%s: model %s up to request %d, %d results, numerics %s", path, s.Created.ModelID, s.Applied,
		len(results), s.Numerics), err
}

func verifyLog(dir string, seen func(string)) error {
	paths, _, err := segmentPaths(dir)
	if err != nil {
		return err
	}
	var errs []error
	before := int64(0)
	for i, path := range paths {
		r := &segmentReader{path: path, before: before, maxSeq: map[string]int64{}}
		if i > 0 {
			r.previous = paths[i-1]
		}
		found, err := wal.Check(path, logOptions(nil, nil, nil), r.read)
		before = found.Sound
		if err != nil {
			errs = append(errs, fmt.Errorf("journal: %w", err))
			continue
		}
		seen(fmt.Sprintf("%s: %d sound bytes, %d requests, %d results", path, found.Sound, len(r.records),
			len(r.results)))
		if found.Torn > 0 {
			seen(fmt.Sprintf("%s: %d bytes of an unfinished write at the end, which the next start cuts off", path,
				found.Torn))
		}
	}
	return errors.Join(errs...)
}
