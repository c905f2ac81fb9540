package disk

import (
	"sync/atomic"
	"syscall"
)

// Full is an FS for tests: while Now is set, writes to files that were opened to append leave half of their bytes and
// fail.
type Full struct {
	FS
	Now atomic.Bool
}

// Append implements FS.
func (d *Full) Append(path string) (File, error) {
	f, err := d.FS.Append(path)
	if err != nil {
		return nil, err
	}
	return &fullFile{f, d}, nil
}

type fullFile struct {
	File
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
