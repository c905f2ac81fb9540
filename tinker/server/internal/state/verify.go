package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/wal"
)

// Repair sets aside the parts of the server's log in dir that a start could not read, and calls seen with the losses.
// No process may have the log open.
func Repair(dir string, seen func(line string)) error {
	path := filepath.Join(dir, LogName)
	s := newStore()
	aside, err := wal.Repair(path, wal.Options{FS: disk.OS(), Notice: seen}, s.replay)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	for _, a := range aside {
		seen(fmt.Sprintf("%s: set aside %s; sessions, samplers and samples in it are unknown now", path, a))
	}
	return nil
}

// Verify reads the server's log in dir without changing it and calls seen with its findings. A folder without a log is
// sound.
func Verify(dir string, seen func(line string)) error {
	path := filepath.Join(dir, LogName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s := newStore()
	found, err := wal.Check(path, wal.Options{}, s.replay)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	seen(fmt.Sprintf("%s: %d records", path, found.Records))
	if found.Torn > 0 {
		seen(fmt.Sprintf("%s: %d bytes of an unfinished write at the end, which the next start cuts off", path,
			found.Torn))
	}
	return nil
}
