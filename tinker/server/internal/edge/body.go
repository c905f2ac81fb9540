package edge

import (
	"net/http"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// bodyKind is how a route reads a request's body. A training request that cannot be decoded uses up its number.
type bodyKind int

const (
	NoBody        bodyKind = iota // nothing is expected and nothing is kept
	IgnoredBody                   // up to MaxBody bytes, of which nothing is kept
	SmallBody                     // JSON of up to MaxSmallBody bytes
	LargeBody                     // up to MaxBody bytes
	SmallTraining                 // smallBody of a request with a model and a number
	LargeTraining                 // largeBody of one, perhaps protobuf
)

func (k bodyKind) large() bool    { return k == IgnoredBody || k == LargeBody || k == LargeTraining }
func (k bodyKind) training() bool { return k == SmallTraining || k == LargeTraining }

// Proto reports whether a body is protobuf.
func (k bodyKind) Proto(r *http.Request) bool {
	return k == LargeTraining && strings.HasPrefix(r.Header.Get("Content-Type"), wire.Proto)
}

// read reads a body into c.body and decompresses it. After an error c.body has the decompressed bytes that arrived
// before it.
func (s *Edge) read(c *Call, kind bodyKind) (err error) {
	if c.R.Body == nil || c.R.Method == http.MethodGet {
		return nil
	}
	most, limit := s.limits.MaxSmallBody, "MaxSmallBody"
	if kind.large() {
		most, limit = s.limits.MaxBody, "MaxBody"
	}
	if kind == NoBody || kind == IgnoredBody {
		return web.Drain(c.R.Body, most, limit)
	}
	c.Body, err = s.Bodies.Read(c.R, c.share, most, limit)
	return err
}

// weigh reserves the memory that the decoded body takes, and refuses a body with too many parts.
func (s *Edge) weigh(c *Call, kind bodyKind) error {
	if kind == NoBody {
		return nil
	}
	bounds := wire.Bounds{Elements: s.limits.MaxElements, Depth: s.limits.MaxDepth}
	weigh := wire.WeighJSON
	if kind.Proto(c.R) {
		weigh = wire.WeighForwardBackward
	}
	weight, err := weigh(c.Body, bounds)
	if err != nil {
		return err
	}
	c.Weight = weight
	return c.share.Take(weight)
}
