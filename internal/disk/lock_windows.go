package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes the lock of an open file, or returns ErrLocked. On Windows other processes cannot read a locked byte,
// so it locks one far after the text of the file.
func lockFile(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: 1}
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &at)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return ErrLocked
	case errors.Is(err, windows.ERROR_NOT_SUPPORTED), errors.Is(err, windows.ERROR_INVALID_FUNCTION):
		return fmt.Errorf("%w: LockFileEx: %w", errors.ErrUnsupported, err)
	}
	return fmt.Errorf("LockFileEx: %w", err)
}

// ending is always false here: a killed process is treated like a live one.
func ending(int) bool { return false }
