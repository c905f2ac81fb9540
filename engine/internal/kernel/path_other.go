//go:build !amd64 && !arm64

package kernel

// Detect returns the best path this processor offers.
func Detect() Path { return Portable }

// fastOps returns the kernels of a path other than Portable.
func fastOps(_ Path, o Order) ops { return portable{o} }

// preferred returns the set to use among those that give the same bits.
func preferred(s *Set, _ [][]float32) *Set { return s }
