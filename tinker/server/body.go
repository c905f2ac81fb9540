package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

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

// read reads a body into c.body and decompresses it. Memory is reserved as bytes arrive. After an error c.body has the
// decompressed bytes that arrived before it.
func (s *Server) read(c *call, kind bodyKind) error {
	if c.r.Body == nil || c.r.Method == http.MethodGet {
		return nil
	}
	most, limit := s.opts.MaxSmallBody, "MaxSmallBody"
	if kind.large() {
		most, limit = s.opts.MaxBody, "MaxBody"
	}
	if kind == noBody || kind == ignoredBody {
		return drain(c.r.Body, most, limit)
	}
	zipped := false
	switch enc := c.r.Header.Get("Content-Encoding"); enc {
	case "", "identity":
	case "zstd":
		zipped = true
	default:
		return status(http.StatusUnsupportedMediaType, "content encoding %q; send zstd or none", enc)
	}
	in := reservedBuffer{share: c.share, most: most, limit: limit, hint: c.r.ContentLength}
	err := in.readFrom(c.r.Body)
	if zipped {
		return s.unpack(c, &in, err)
	}
	c.body = in.b
	return bodyError(err)
}

// drain reads a body that is ignored.
func drain(r io.Reader, most int64, limit string) error {
	n, err := io.Copy(io.Discard, io.LimitReader(r, most+1))
	if n > most {
		err = tooLarge(most, limit)
	}
	return bodyError(err)
}

func tooLarge(most int64, limit string) error {
	return status(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes (%s); send smaller batches",
		most, limit)
}

// bodyError gives an error of reading its status.
func bodyError(err error) error {
	var se *statusError
	switch {
	case err == nil, errors.As(err, &se):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return status(http.StatusRequestTimeout, "reading the body: %w", err)
	}
	return status(http.StatusBadRequest, "reading the body: %w", err)
}

// reservedBuffer is a byte buffer whose memory is reserved before it is allocated.
type reservedBuffer struct {
	share *reservation
	most  int64  // bytes
	hint  int64  // announced length in bytes; trusted once a quarter has arrived
	limit string // the name of most
	b     []byte
}

// firstSink is the initial size of a sink, bytes.
const firstSink = 512

func (k *reservedBuffer) readFrom(r io.Reader) error {
	for {
		if len(k.b) == cap(k.b) {
			if err := k.grow(); err != nil {
				return err
			}
		}
		n, err := r.Read(k.b[len(k.b):cap(k.b)])
		k.b = k.b[:len(k.b)+n]
		switch {
		case int64(len(k.b)) > k.most:
			k.b = k.b[:k.most]
			return tooLarge(k.most, k.limit)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (k *reservedBuffer) grow() error {
	have := int64(cap(k.b))
	want := max(firstSink, 2*have)
	if k.hint > have && k.hint < 2*want {
		want = k.hint + 1 // one more, to see the end
	}
	want = min(want, k.most+1)
	if err := k.share.take(want); err != nil {
		return err
	}
	b := make([]byte, len(k.b), want)
	copy(b, k.b)
	k.b = b
	k.share.give(have)
	return nil
}

// drop releases the bytes.
func (k *reservedBuffer) drop() {
	k.share.give(int64(cap(k.b)))
	k.b = nil
}

// maxWindow is the zstd window that a decoder keeps in memory: 8 MiB, which RFC 8878 (3.1.1.1.2) recommends every
// decoder to support.
const maxWindow = 8 << 20

// unpackFree is the number of bytes to which any body may unpack, however small it is: three times the size of the
// SDK's requests.
const unpackFree = 16 << 20

// unpack decompresses the received bytes, complete or not, into c.body. It does not trust the size in a frame's
// header. After an error of reading, came, it decompresses as far as possible and returns that error.
func (s *Server) unpack(c *call, in *reservedBuffer, came error) error {
	defer in.drop()
	out := reservedBuffer{share: c.share, most: in.most, limit: in.limit}
	if ratio := max(unpackFree, int64(len(in.b))*int64(s.opts.MaxUnpack)); ratio < out.most {
		out.most, out.limit = ratio, fmt.Sprintf("MaxUnpack, %d times the %d bytes sent", s.opts.MaxUnpack, len(in.b))
	}
	d, err := s.inflaters.get(c.ctx)
	if err != nil {
		return err
	}
	defer s.inflaters.put(d)
	if err = d.Reset(bytes.NewReader(in.b)); err == nil {
		err = out.readFrom(d)
	}
	c.body = out.b
	var se *statusError
	switch {
	case came != nil:
		return bodyError(came)
	case errors.As(err, &se):
		return err
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return status(http.StatusRequestEntityTooLarge,
			"zstd body: its window is larger than %d bytes; compress it at level 19 or below: %w", maxWindow, err)
	case err != nil:
		return status(http.StatusBadRequest, "zstd body: %w: %w", wire.ErrMalformed, err)
	}
	return nil
}

// inflaters is a pool of decoders, which limits the memory of their windows. No decoder is held while waiting for
// bytes.
type inflaters chan *zstd.Decoder

func newInflaters(n int) inflaters {
	list := make(inflaters, n)
	for range n {
		list <- nil // made when it is needed
	}
	return list
}

func (list inflaters) get(ctx context.Context) (*zstd.Decoder, error) {
	select {
	case d := <-list:
		if d != nil {
			return d, nil
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxWindow),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		list <- nil
		return nil, fmt.Errorf("server: zstd: %w", err)
	}
	return d, nil
}

func (list inflaters) put(d *zstd.Decoder) {
	if d.Reset(nil) != nil { // releases the body
		d = nil
	}
	list <- d
}

// weigh reserves the memory that the decoded body takes, and refuses a body with too many parts.
func (s *Server) weigh(c *call, kind bodyKind) error {
	if kind == noBody {
		return nil
	}
	bounds := wire.Bounds{Elements: s.opts.MaxElements, Depth: s.opts.MaxDepth}
	weigh := wire.WeighJSON
	if kind.proto(c.r) {
		weigh = wire.WeighForwardBackward
	}
	weight, err := weigh(c.body, bounds)
	if err != nil {
		return err
	}
	c.weight = weight
	return c.share.take(weight)
}
