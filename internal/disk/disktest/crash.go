// Package disktest has file systems for tests: one that crashes, one that fails, one that is full and one that holds
// open files as Windows does. EveryCrash runs a job and stops it at each of its operations.
package disktest

import (
	"errors"
	"fmt"
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
