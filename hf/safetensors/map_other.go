//go:build !unix

package safetensors

import "os"

// mapFile reads the whole file where files cannot be mapped.
func mapFile(path string) (data []byte, unmap func() error, err error) {
	data, err = os.ReadFile(path)
	return data, func() error { return nil }, err
}

// forget has nothing to drop.
func forget([]byte) {}
