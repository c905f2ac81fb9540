//go:build !amd64 && !arm64

package kernel

// detect returns the best path this processor offers.
func detect() Path { return Portable }

// fastOps returns the kernels of a path other than Portable.
func fastOps(_ Path, o Order) ops { return portable{o} }

// rival returns the lower path that may multiply bf16 faster than p.
func rival(Path) (lower Path, ok bool) { return Portable, false }
