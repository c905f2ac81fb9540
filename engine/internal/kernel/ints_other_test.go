//go:build !amd64

package kernel

// intFamilies are the kernels of int8 products that this processor has but does not choose.
func intFamilies() []ops { return nil }
