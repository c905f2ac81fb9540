package kernel

import "fmt"

// Order is the order in which a bf16 product adds. Each order is fast on some processors, and every path but two
// supports both, so that a job begun in one order can continue in it on any machine. The products of float32 panels
// have one order.
type Order uint8

const (
	// Sequential folds k upward into one sum, in each pair the odd element first: what VDPBF16PS does.
	Sequential Order = iota
	// Blocked takes 32 k at a time. The even ones and the odd ones are folded upward into a sum each, from zero; the
	// two are added to each other and then to the accumulator: what TDPBF16PS does, the product of AMX.
	Blocked
)

// String returns the name of the order as jobs keep it.
func (o Order) String() string {
	switch o {
	case Sequential:
		return "sequential"
	case Blocked:
		return "blocked"
	}
	return fmt.Sprintf("order(%d)", uint8(o))
}

// Native returns the order that is fastest on this processor.
func Native() Order {
	if Detect() == AMX {
		return Blocked
	}
	return Sequential
}

// offers reports whether path p multiplies in order o. VDPBF16PS and TDPBF16PS have one order each.
func (p Path) offers(o Order) bool {
	return (p != AVX512BF16 || o == Sequential) && (p != AMX || o == Blocked)
}
