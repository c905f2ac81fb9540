//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock of an open file, or returns ErrLocked, or errors.ErrUnsupported if the file system has no
// locks.
func lockFile(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS),
			errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EINVAL):
			return fmt.Errorf("%w: flock: %w", errors.ErrUnsupported, err)
		default:
			return fmt.Errorf("flock: %w", err)
		}
	}
}

// gone reports whether there is no process of that pid.
func gone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
