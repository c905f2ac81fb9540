package endpoint

import "github.com/seed-d9ad8ee0/trinity/tinker/wire"

// The limits of a body where a program serves the interfaces beside its own work.
const (
	MaxBody  = 32 << 20  // bytes
	maxParts = 256 << 10 // objects, arrays and members
	maxDepth = 64
)

// WeighBody estimates the bytes that a body takes when it is decoded, and refuses one with too many parts.
func WeighBody(body []byte) (int64, error) {
	return wire.WeighJSON(body, wire.Bounds{Elements: maxParts, Depth: maxDepth})
}
