// Package disktest has file systems for tests: one that crashes and one that is full.
package disktest

import (
	"errors"
	"maps"
	"os"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// ErrCrash is the error of every operation from the crash on.
var ErrCrash = errors.New("disktest: crashed by the test")

// Crash is a disk.FS: it passes operations through and counts them; operation number At does not happen (a write
// leaves half of its bytes) and every later one fails, as if the process had been killed there. With PowerLoss, bytes
// that were not synced are lost too. Crash itself tracks the durable bytes; the disk is never synced, which makes such
// tests fast. What is there before the first Crash is durable; Next is the disk of the process after a kill.
type Crash struct {
	FS        disk.FS
	At        int // 1 is the first operation; 0 never crashes
	PowerLoss bool
	OnCrash   func() // called once, if set

	mu      sync.Mutex
	n       int
	crashed bool
	synced  map[string]int64 // durable bytes of each file appended to or created
}

// Next is the file system of the next process: what this one did not sync is not durable there either.
func (c *Crash) Next() *Crash {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Crash{FS: c.FS, synced: maps.Clone(c.synced)}
}

// Count is the number of operations so far.
func (c *Crash) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Now crashes at once: no later operation is executed.
func (c *Crash) Now() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.crashed = true
}

// step counts one operation. now is true for the operation that crashes.
func (c *Crash) step() (now bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crashed {
		return false, ErrCrash
	}
	c.n++
	if c.At == 0 || c.n < c.At {
		return false, nil
	}
	c.crashed = true
	if c.PowerLoss {
		for path, size := range c.synced {
			if st, err := os.Stat(path); err == nil && st.Size() > size {
				os.Truncate(path, size)
			}
		}
	}
	if c.OnCrash != nil {
		c.OnCrash()
	}
	return true, ErrCrash
}

func (c *Crash) do(op func() error) error {
	if _, err := c.step(); err != nil {
		return err
	}
	return c.alive(op())
}

// alive is err, or ErrCrash if the crash came while the operation ran: a killed process gets no result.
func (c *Crash) alive(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crashed {
		return ErrCrash
	}
	return err
}

// MkdirAll implements disk.FS.
func (c *Crash) MkdirAll(path string) error {
	return c.do(func() error { return c.FS.MkdirAll(path) })
}

// Rename implements disk.FS.
func (c *Crash) Rename(from, to string) error {
	return c.do(func() error {
		c.mu.Lock()
		n, ok := c.synced[from]
		delete(c.synced, from)
		delete(c.synced, to)
		if ok {
			c.synced[to] = n
		}
		c.mu.Unlock()
		return c.FS.Rename(from, to)
	})
}

// Link implements disk.FS.
func (c *Crash) Link(from, to string) error {
	return c.do(func() error {
		c.mu.Lock()
		if n, ok := c.synced[from]; ok {
			c.synced[to] = n
		}
		c.mu.Unlock()
		return c.FS.Link(from, to)
	})
}

// Remove implements disk.FS.
func (c *Crash) Remove(path string) error { return c.do(func() error { return c.FS.Remove(path) }) }

// RemoveAll implements disk.FS.
func (c *Crash) RemoveAll(path string) error {
	return c.do(func() error { return c.FS.RemoveAll(path) })
}

// Truncate implements disk.FS.
func (c *Crash) Truncate(path string, size int64) error {
	return c.do(func() error {
		c.mu.Lock()
		if n, ok := c.synced[path]; ok {
			c.synced[path] = min(n, size)
		}
		c.mu.Unlock()
		return c.FS.Truncate(path, size)
	})
}

// SyncDir implements disk.FS.
func (c *Crash) SyncDir(string) error { return c.do(func() error { return nil }) }

// Transaction implements disk.FS.
func (c *Crash) Transaction(_ string, run func() error) error { return c.do(run) }

// Create implements disk.FS.
func (c *Crash) Create(path string) (disk.File, error) { return c.open(path, c.FS.Create, 0) }

// Append implements disk.FS.
func (c *Crash) Append(path string) (disk.File, error) {
	var size int64
	if st, err := os.Stat(path); err == nil {
		size = st.Size()
		c.mu.Lock()
		if n, known := c.synced[path]; known {
			size = min(size, n)
		}
		c.mu.Unlock()
	}
	return c.open(path, c.FS.Append, size)
}

func (c *Crash) open(path string, open func(string) (disk.File, error), durable int64) (disk.File, error) {
	if _, err := c.step(); err != nil {
		return nil, err
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.synced == nil {
		c.synced = map[string]int64{}
	}
	c.synced[path] = durable
	c.mu.Unlock()
	return &crashFile{c: c, f: f, path: path}, nil
}

type crashFile struct {
	c    *Crash
	f    disk.File
	path string
}

func (f *crashFile) Write(b []byte) (int, error) {
	now, err := f.c.step()
	if now && !f.c.PowerLoss {
		f.f.Write(b[:len(b)/2])
	}
	if err != nil {
		return 0, err
	}
	n, err := f.f.Write(b)
	return n, f.c.alive(err)
}

func (f *crashFile) Sync() error {
	if _, err := f.c.step(); err != nil {
		return err
	}
	if st, err := os.Stat(f.path); err == nil {
		f.c.mu.Lock()
		f.c.synced[f.path] = st.Size()
		f.c.mu.Unlock()
	}
	return f.c.alive(nil)
}

func (f *crashFile) Close() error { return f.f.Close() }
