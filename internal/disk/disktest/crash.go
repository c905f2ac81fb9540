// Package disktest has file systems for tests: one that crashes, one that is full and one that holds open files as
// Windows does. EveryCrash runs a job and stops it at each of its operations.
package disktest

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// ErrCrash is the error of every operation from the crash on.
var ErrCrash = errors.New("disktest: crashed by the test")

// Crash is a disk.FS: it passes operations through and counts them; operation number At does not happen (a write leaves
// half of its bytes) and every later one fails, as if the process had been killed there. What is there before the first
// operation is durable. The real disk is never synced, which makes such tests fast: Crash has in memory what a power
// loss would leave. Next is the file system of the next process.
type Crash struct {
	FS disk.FS // disk.OS if nil
	At int     // 1 is the first operation; 0 never crashes
	// PowerLoss undoes at the crash everything that was not synced: bytes and truncations of files, and creations,
	// renames, links and removals of names whose folder was not synced. No file system may lose more.
	PowerLoss bool
	// NamesStay makes a power loss undo only bytes that were not synced, as if names and truncations were durable at
	// once. A real file system is between the two.
	NamesStay bool
	OnCrash   func() // called once, if set

	mu      sync.Mutex
	disk    *image
	n       int
	crashed bool
	last    string // the operation at which it crashed
}

// Next is the file system of the next process: what this one did not sync is not durable there either.
func (c *Crash) Next() *Crash {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Crash{FS: c.FS, disk: c.image()}
}

// Count is the number of operations so far.
func (c *Crash) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Last names the operation at which it crashed.
func (c *Crash) Last() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Now crashes at once, if it has not yet: no later operation is executed.
func (c *Crash) Now() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.crashed {
		c.crash("between two operations")
	}
}

func (c *Crash) crash(at string) {
	c.crashed, c.last = true, at
	if c.PowerLoss {
		c.on(func(d *image) error { d.lose(c.NamesStay); return nil })
	}
	if c.OnCrash != nil {
		c.OnCrash()
	}
}

func (c *Crash) image() *image {
	if c.disk == nil {
		c.disk = newImage()
	}
	return c.disk
}

func (c *Crash) to() disk.FS {
	if c.FS == nil {
		return disk.OS()
	}
	return c.FS
}

// step counts one operation. now is true for the operation that crashes. c.mu is held.
func (c *Crash) step(kind string, paths ...string) (now bool, err error) {
	if c.crashed {
		return false, ErrCrash
	}
	c.n++
	if c.At == 0 || c.n < c.At {
		return false, nil
	}
	c.crash(fmt.Sprintf("operation %d, %s %s", c.n, kind, strings.Join(paths, " to ")))
	return true, ErrCrash
}

// do executes one operation. No other runs meanwhile, so that a crash is never in the middle of one.
func (c *Crash) do(kind, path string, op func(*image) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.step(kind, path); err != nil {
		return err
	}
	return c.on(op)
}

func (c *Crash) on(op func(*image) error) error {
	d := c.image()
	d.mu.Lock()
	defer d.mu.Unlock()
	return op(d)
}

// at executes an operation on a path whose folder the image knows, unless there is none.
func (c *Crash) at(kind, path string, op func() error, note func(place) (done func())) error {
	return c.do(kind, path, func(d *image) error {
		p, err := d.find(path)
		if err != nil {
			return op()
		}
		done := note(p)
		if err := op(); err != nil {
			return err
		}
		done()
		return nil
	})
}

// MkdirAll implements disk.FS.
func (c *Crash) MkdirAll(path string) error {
	return c.do("MkdirAll", path, func(d *image) error { return d.makeAll(c.to(), path) })
}

// makeAll makes a folder and those above it.
func (d *image) makeAll(to disk.FS, path string) error {
	if p, err := d.find(path); err == nil {
		n := p.look()
		err := to.MkdirAll(path)
		if n == nil && err == nil {
			p.set(newFolder())
		}
		return err
	}
	above := filepath.Dir(path)
	if above == path {
		return to.MkdirAll(path)
	}
	if err := d.makeAll(to, above); err != nil {
		return err
	}
	return d.makeAll(to, path)
}

// Rename implements disk.FS.
func (c *Crash) Rename(from, to string) error {
	return c.two("rename", from, to, c.to().Rename, func(old, name place) func() {
		n := old.load() // it may get two names on the disk
		name.load()     // what it replaces
		return func() {
			old.set(nil)
			name.set(n)
		}
	})
}

// Link implements disk.FS.
func (c *Crash) Link(from, to string) error {
	return c.two("link", from, to, c.to().Link, func(old, name place) func() {
		n := old.load()
		return func() { name.set(n) }
	})
}

// two executes an operation on two names.
func (c *Crash) two(kind, from, to string, op func(from, to string) error, note func(from, to place) func()) error {
	return c.do(kind, from+" to "+to, func(d *image) error {
		old, err := d.find(from)
		if err != nil {
			return op(from, to)
		}
		name, err := d.find(to)
		if err != nil {
			return op(from, to)
		}
		done := note(old, name)
		if err := op(from, to); err != nil {
			return err
		}
		done()
		return nil
	})
}

// Remove implements disk.FS.
func (c *Crash) Remove(path string) error { return c.remove("remove", path, c.to().Remove) }

// RemoveAll implements disk.FS.
func (c *Crash) RemoveAll(path string) error { return c.remove("RemoveAll", path, c.to().RemoveAll) }

func (c *Crash) remove(kind, path string, remove func(string) error) error {
	return c.at(kind, path, func() error { return remove(path) }, func(p place) func() {
		p.load()
		return func() { p.set(nil) }
	})
}

// Truncate implements disk.FS.
func (c *Crash) Truncate(path string, size int64) error {
	return c.at("truncate", path, func() error { return c.to().Truncate(path, size) }, func(p place) func() {
		n := p.load()
		return func() { n.truncate(size) }
	})
}

// SyncDir implements disk.FS.
func (c *Crash) SyncDir(path string) error {
	return c.at("SyncDir", path, func() error { return nil }, func(p place) func() {
		n := p.look()
		return func() {
			if n != nil {
				n.sync()
			}
		}
	})
}

// Transaction implements disk.FS.
func (c *Crash) Transaction(path string, run func() error) error {
	if err := c.do("transaction", path, func(*image) error { return nil }); err != nil {
		return err
	}
	err := run()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crashed { // while it ran: a killed process gets no result
		return ErrCrash
	}
	return err
}

// Create implements disk.FS.
func (c *Crash) Create(path string) (disk.File, error) {
	return c.open("create", path, true, c.to().Create)
}

// Append implements disk.FS.
func (c *Crash) Append(path string) (disk.File, error) {
	return c.open("append", path, false, c.to().Append)
}

func (c *Crash) open(kind, path string, truncate bool, open func(string) (disk.File, error)) (disk.File, error) {
	f := &crashFile{c: c, path: path, n: newFile()}
	err := c.at(kind, path, func() (err error) {
		f.f, err = open(path)
		return err
	}, func(p place) func() {
		if f.n = p.load(); f.n == nil {
			f.n = newFile()
		}
		return func() {
			if truncate {
				f.n.truncate(0)
			}
			p.set(f.n)
		}
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

type crashFile struct {
	c    *Crash
	f    disk.File
	path string
	n    *node
}

func (f *crashFile) Write(b []byte) (n int, err error) {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	now, err := f.c.step("write", f.path)
	if now && !f.c.PowerLoss {
		f.write(b[:len(b)/2])
	}
	if err != nil {
		return 0, err
	}
	return f.write(b)
}

func (f *crashFile) write(b []byte) (n int, err error) {
	err = f.c.on(func(*image) error {
		n, err = f.f.Write(b)
		f.n.write(b[:n])
		return err
	})
	return n, err
}

func (f *crashFile) Sync() error {
	return f.c.do("sync", f.path, func(*image) error {
		f.n.sync()
		return nil
	})
}

func (f *crashFile) Close() error { return f.f.Close() }
