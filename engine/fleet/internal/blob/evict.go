package blob

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

type entry struct {
	name string
	size int64
	used time.Time
}

// makeRoom removes the blobs that were not used for longest until size more bytes fit.
func (c *Cache) makeRoom(size int64) error {
	if c.limit == 0 {
		return nil
	}
	if size > c.limit {
		return fmt.Errorf("fleet: cache: a blob of %d bytes; the cache's limit is %d", size, c.limit)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, total, err := c.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if total+size <= c.limit {
			break
		}
		if c.pinned[strings.TrimSuffix(e.name, ".part")] > 0 {
			continue
		}
		if err := os.Remove(filepath.Join(c.dir, e.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("fleet: cache: %w", err)
		}
		total -= e.size
	}
	return nil
}

// Drop removes a blob that nobody will ask for again, at once or when it is released.
func (c *Cache) Drop(hash string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pinned[hash] > 0 {
		c.dropped[hash] = true
		return
	}
	c.remove(hash)
}

// remove removes a blob and what an unfinished download left of it; c.mu is held. A file that cannot be removed is
// still a sound blob.
func (c *Cache) remove(hash string) {
	delete(c.dropped, hash)
	if !message.IsHash(hash) {
		return
	}
	os.Remove(filepath.Join(c.dir, hash))
	os.Remove(filepath.Join(c.dir, hash+".part"))
}

// Clear removes all blobs, of which none may be in use.
func (c *Cache) Clear() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, _, err := c.entries()
	for _, e := range entries {
		err = errors.Join(err, os.Remove(filepath.Join(c.dir, e.name)))
	}
	return err
}

// entries lists the blobs, the one that was not used for longest first.
func (c *Cache) entries() (entries []entry, total int64, err error) {
	files, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, 0, fmt.Errorf("fleet: cache: %w", err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || !message.IsHash(strings.TrimSuffix(f.Name(), ".part")) {
			continue // removed in between, or not ours
		}
		entries = append(entries, entry{f.Name(), info.Size(), info.ModTime()})
		total += info.Size()
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name))
	})
	return entries, total, nil
}

// Known returns the size of a blob that is in the cache.
func (c *Cache) Known(hash string) (int64, bool) {
	if !message.IsHash(hash) {
		return 0, false
	}
	info, err := os.Stat(filepath.Join(c.dir, hash))
	if err != nil {
		return 0, false
	}
	return info.Size(), true
}

// Size is the bytes in the cache.
func (c *Cache) Size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, total, err := c.entries()
	if err != nil {
		return 0
	}
	return total
}
