package hub

import (
	"context"
	"math"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// lock keeps other processes from fetching the repository until unlock. It ends with the process too. If the file
// system has no locks, two processes that fetch one repository at the same time may make each other fail; the same
// command then continues.
func (h *Hub) lock(ctx context.Context, r repo) (unlock func(), err error) {
	path := filepath.Join(h.Cache, ".locks", r.folder(), "trinity.lock")
	if err := disk.MkdirAll(h.fs, filepath.Dir(path)); err != nil {
		return nil, err
	}
	release, err := disk.Lock{Path: path, Grace: math.MaxInt64}.Take(ctx)
	if err != nil {
		return nil, err
	}
	return func() { release() }, nil // the file's content tells users which process has the lock
}
