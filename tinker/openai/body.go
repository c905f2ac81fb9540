package openai

import (
	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// The limits of bodies where a program serves the interfaces beside its own work.
const (
	MaxBody   = 32 << 20  // bytes of one request
	maxMemory = 1 << 30   // bytes of all requests that are being read
	maxUnpack = 256       // times the size that was sent
	maxParts  = 256 << 10 // objects, arrays and members
	maxDepth  = 64
)

// NewBodies returns what reads the bodies of a listener. Requests whose context has a share of it (web.Bodies.Handler)
// are read within its budget.
func NewBodies() *web.Bodies {
	return web.NewBodies(web.BodyOptions{Most: maxMemory, Tenant: maxMemory / 2, Unpack: maxUnpack,
		Malformed: wire.ErrMalformed, Weigh: func(body []byte) (int64, error) {
			return wire.WeighJSON(body, wire.Bounds{Elements: maxParts, Depth: maxDepth})
		}})
}
