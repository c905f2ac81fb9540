package access

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nkeys"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// mostIdentities is the number of workers that may share a cache folder.
const mostIdentities = 256

// Identity returns a worker's key out of a folder: the first that no other process uses. So a machine has the same id
// whenever it comes back, and one that was set aside stays so. release lets another process use the key.
func Identity(dir string) (key nkeys.KeyPair, release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("fleet: the worker's key: %w", err)
	}
	for i := range mostIdentities {
		path := filepath.Join(dir, fmt.Sprintf("worker-%d", i))
		unlock, err := disk.Lock{Path: path + ".lock"}.Take(context.Background())
		if errors.Is(err, disk.ErrLocked) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("fleet: the worker's key: %w", err)
		}
		key, err := openIdentity(path + ".key")
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("fleet: the worker's key: %w", err), unlock())
		}
		return key, func() { unlock() }, nil
	}
	return nil, nil, fmt.Errorf("fleet: %d workers use the cache %s already", mostIdentities, dir)
}

func openIdentity(path string) (nkeys.KeyPair, error) {
	seed, err := os.ReadFile(path)
	if err == nil {
		return nkeys.FromSeed(seed)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	key, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	if seed, err = key.Seed(); err != nil {
		return nil, err
	}
	return key, writeSecret(path, seed)
}
