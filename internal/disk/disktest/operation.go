package disktest

import (
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

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
