package disktest

import (
	"sync/atomic"
	"syscall"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Full is a disk.FS: while Now is set, writes to files that were opened to append leave half of their bytes and
// fail.
type Full struct {
	disk.FS
	Now atomic.Bool
}

// Append implements disk.FS.
func (d *Full) Append(path string) (disk.File, error) {
	f, err := d.FS.Append(path)
	if err != nil {
		return nil, err
	}
	return &fullFile{f, d}, nil
}

type fullFile struct {
	disk.File
	d *Full
}

func (f *fullFile) Write(b []byte) (int, error) {
	if !f.d.Now.Load() {
		return f.File.Write(b)
	}
	n, err := f.File.Write(b[:len(b)/2])
	if err == nil {
		err = syscall.ENOSPC
	}
	return n, err
}
