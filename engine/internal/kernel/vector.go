//go:build amd64 || arm64

package kernel

import "unsafe"

// first returns the address of the first element; nothing is read if there is none.
func first(x []float32) *float32 { return unsafe.SliceData(x) }
