package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/wal"
)

// Verify reads the server's log in dir without changing it and tells seen what it found. A folder without one is sound.
func Verify(dir string, seen func(line string)) error {
	path := filepath.Join(dir, logName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s := newState()
	found, err := wal.Check(path, wal.Options{Legacy: wal.LegacyLedger}, s.replay)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	seen(fmt.Sprintf("%s: %d records", path, found.Records))
	if found.Torn > 0 {
		seen(fmt.Sprintf("%s: %d bytes of an unfinished write at the end, which the next start cuts off", path, found.Torn))
	}
	return nil
}
