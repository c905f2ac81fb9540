package kernel

import "golang.org/x/sys/unix"

// reserve maps n bytes of zeros.
func reserve(n int) (data []byte, free func([]byte) error, err error) {
	data, err = unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	if n >= 2<<20 {
		_ = unix.Madvise(data, unix.MADV_HUGEPAGE) // a system without huge pages has small ones
	}
	return data, unix.Munmap, nil
}
