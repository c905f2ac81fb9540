//go:build unix

package hub

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lock keeps other processes from fetching the repository until unlock. It ends with the process too.
func (h *Hub) lock(ctx context.Context, r repo) (unlock func(), err error) {
	path := filepath.Join(h.Cache, ".locks", r.folder(), "trinity.lock")
	if err := h.FS.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return func() { f.Close() }, nil // a file system without locks
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			f.Close()
			return nil, err
		}
	}
}
