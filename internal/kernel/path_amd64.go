package kernel

// Detect returns the best path this processor offers.
func Detect() Path { return Portable }

// fastOps returns the kernels of a path other than Portable.
func fastOps(Path) ops { return portable{} }
