package server

import (
	"net/http"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// bodyKind is how a route reads a request's body. A training request that cannot be decoded uses up its number.
type bodyKind int

const (
	noBody        bodyKind = iota // nothing is expected and nothing is kept
	ignoredBody                   // up to MaxBody bytes, of which nothing is kept
	smallBody                     // JSON of up to MaxSmallBody bytes
	largeBody                     // up to MaxBody bytes
	smallTraining                 // smallBody of a request with a model and a number
	largeTraining                 // largeBody of one, perhaps protobuf
)

func (k bodyKind) large() bool    { return k == ignoredBody || k == largeBody || k == largeTraining }
func (k bodyKind) training() bool { return k == smallTraining || k == largeTraining }

// proto reports whether a body is protobuf.
func (k bodyKind) proto(r *http.Request) bool {
	return k == largeTraining && strings.HasPrefix(r.Header.Get("Content-Type"), wire.Proto)
}

// read reads a body into c.body and decompresses it. After an error c.body has the decompressed bytes that arrived
// before it.
func (s *edge) read(c *call, kind bodyKind) (err error) {
	if c.r.Body == nil || c.r.Method == http.MethodGet {
		return nil
	}
	most, limit := s.limits.MaxSmallBody, "MaxSmallBody"
	if kind.large() {
		most, limit = s.limits.MaxBody, "MaxBody"
	}
	if kind == noBody || kind == ignoredBody {
		return web.Drain(c.r.Body, most, limit)
	}
	c.body, err = s.bodies.Read(c.r, c.share, most, limit)
	return err
}

// weigh reserves the memory that the decoded body takes, and refuses a body with too many parts.
func (s *edge) weigh(c *call, kind bodyKind) error {
	if kind == noBody {
		return nil
	}
	bounds := wire.Bounds{Elements: s.limits.MaxElements, Depth: s.limits.MaxDepth}
	weigh := wire.WeighJSON
	if kind.proto(c.r) {
		weigh = wire.WeighForwardBackward
	}
	weight, err := weigh(c.body, bounds)
	if err != nil {
		return err
	}
	c.weight = weight
	return c.share.Take(weight)
}
