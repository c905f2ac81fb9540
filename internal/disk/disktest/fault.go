package disktest

import (
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Errnos returns the errors of a disk that is full, over the user's quota, read-only or broken.
func Errnos() []syscall.Errno {
	return []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO}
}

// Fault is a disk.FS whose operations fail with Err: from operation number At on, that many, or all if For is negative.
// A write that fails leaves half of its bytes. A full disk still removes and shortens files.
type Fault struct {
	FS  disk.FS
	At  int // 1 is the first operation
	For int // 0 never fails
	Err syscall.Errno

	mu    sync.Mutex
	n     int
	first string
}

// Count is the number of operations so far.
func (f *Fault) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// First names the first operation that failed; "" if none did.
func (f *Fault) First() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}

// step counts an operation and returns its error.
func (f *Fault) step(op, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	if f.n < f.At || f.For >= 0 && f.n >= f.At+f.For {
		return nil
	}
	if f.first == "" {
		f.first = fmt.Sprintf("operation %d, %s %s", f.n, op, path)
	}
	return &os.PathError{Op: op, Path: path, Err: f.Err}
}

// frees is step for an operation that takes no space.
func (f *Fault) frees(op, path string) error {
	if f.Err == syscall.ENOSPC || f.Err == syscall.EDQUOT {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.n++
		return nil
	}
	return f.step(op, path)
}

// MkdirAll implements disk.FS.
func (f *Fault) MkdirAll(path string) error {
	if err := f.step("mkdir", path); err != nil {
		return err
	}
	return f.FS.MkdirAll(path)
}

// Create implements disk.FS.
func (f *Fault) Create(path string) (disk.File, error) { return f.open("create", path, f.FS.Create) }

// Append implements disk.FS.
func (f *Fault) Append(path string) (disk.File, error) { return f.open("append", path, f.FS.Append) }

func (f *Fault) open(op, path string, open func(string) (disk.File, error)) (disk.File, error) {
	if err := f.step(op, path); err != nil {
		return nil, err
	}
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	return &faultyFile{file, f, path}, nil
}

// Rename implements disk.FS.
func (f *Fault) Rename(from, to string) error {
	if err := f.step("rename", from+" to "+to); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

// Link implements disk.FS.
func (f *Fault) Link(from, to string) error {
	if err := f.step("link", from+" to "+to); err != nil {
		return err
	}
	return f.FS.Link(from, to)
}

// Remove implements disk.FS.
func (f *Fault) Remove(path string) error {
	if err := f.frees("remove", path); err != nil {
		return err
	}
	return f.FS.Remove(path)
}

// RemoveAll implements disk.FS.
func (f *Fault) RemoveAll(path string) error {
	if err := f.frees("remove", path); err != nil {
		return err
	}
	return f.FS.RemoveAll(path)
}

// Truncate implements disk.FS.
func (f *Fault) Truncate(path string, size int64) error {
	if err := f.frees("truncate", path); err != nil {
		return err
	}
	return f.FS.Truncate(path, size)
}

// SyncDir implements disk.FS.
func (f *Fault) SyncDir(path string) error {
	if err := f.step("sync", path); err != nil {
		return err
	}
	return f.FS.SyncDir(path)
}

// Transaction implements disk.FS.
func (f *Fault) Transaction(path string, run func() error) error {
	if err := f.step("transaction", path); err != nil {
		return err
	}
	return f.FS.Transaction(path, run)
}

type faultyFile struct {
	disk.File
	f    *Fault
	path string
}

func (f *faultyFile) Write(b []byte) (int, error) {
	bad := f.f.step("write", f.path)
	if bad == nil {
		return f.File.Write(b)
	}
	n, err := f.File.Write(b[:len(b)/2])
	if err == nil {
		err = bad
	}
	return n, err
}

func (f *faultyFile) Sync() error {
	if err := f.f.step("sync", f.path); err != nil {
		return err
	}
	return f.File.Sync()
}
