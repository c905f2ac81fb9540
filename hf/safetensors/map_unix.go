//go:build unix

package safetensors

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// mapFile maps a regular file for reading. The mapping stays valid when the file is replaced or removed.
func mapFile(path string) (data []byte, unmap func() error, err error) {
	f, err := disk.OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if st.Size() == 0 {
		return nil, func() error { return nil }, nil
	}
	data, err = syscall.Mmap(int(f.Fd()), 0, int(st.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("mapping %s: %w", path, err)
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}

// forget drops the pages of a mapping from this process; they are read again when they are touched. All of them, for
// the system maps many around each one that is touched.
func forget(data []byte) {
	if len(data) > 0 {
		_ = unix.Madvise(data, unix.MADV_DONTNEED) // it only saves memory
	}
}
