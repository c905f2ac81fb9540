package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"

	"github.com/klauspost/compress/zstd"
)

// BodyOptions limit the bodies of a listener. Zero values mean their defaults.
type BodyOptions struct {
	Most      int64 // bytes of memory of all requests that are being read and decoded; default 1 GiB
	Tenant    int64 // the same of one tenant; default half of Most
	Unpack    int   // largest ratio of a body's unpacked to its packed size, beyond 16 MiB; default 256
	Malformed error // is wrapped by the errors of bodies that cannot be unpacked; nil: nothing
	// Weigh returns the bytes that a body takes when it is decoded; nil: none.
	Weigh func(body []byte) (int64, error)
}

// Bodies reads the bodies of a listener's requests within one budget: memory is reserved before it is allocated. It is
// safe for concurrent use.
type Bodies struct {
	o         BodyOptions
	budget    *Budget
	inflaters inflaters // of zstd
}

// NewBodies returns Bodies.
func NewBodies(o BodyOptions) *Bodies {
	o.Most = cmp.Or(o.Most, 1<<30)
	o.Tenant, o.Unpack = cmp.Or(o.Tenant, o.Most/2), cmp.Or(o.Unpack, 256)
	return &Bodies{o: o, budget: NewBudget(o.Most, o.Tenant), inflaters: newInflaters(max(4, runtime.GOMAXPROCS(0)))}
}

// Budget is the memory that the bodies share.
func (b *Bodies) Budget() *Budget { return b.budget }

// Idle reports whether no body is being unpacked.
func (b *Bodies) Idle() bool { return len(b.inflaters) == cap(b.inflaters) }

// shareKey is the key of a request's share in its context.
type shareKey struct{}

// WithShare returns a context with the share of a request.
func WithShare(ctx context.Context, s *Share) context.Context {
	return context.WithValue(ctx, shareKey{}, s)
}

// ShareOf is the share of the request that has this context; nil if it has none.
func ShareOf(ctx context.Context) *Share {
	s, _ := ctx.Value(shareKey{}).(*Share)
	return s
}

// Handler gives each request of h a share, in its context, until it is answered. All callers are one tenant.
func (b *Bodies) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		share := b.budget.Share("")
		defer share.Release()
		h.ServeHTTP(w, r.WithContext(WithShare(r.Context(), share)))
	})
}

// ReadWeighed is Read with the share of the request's context, which then holds the memory of the decoded body too. A
// body with too many parts is refused.
func (b *Bodies) ReadWeighed(r *http.Request, most int64) ([]byte, error) {
	share := ShareOf(r.Context())
	body, err := b.Read(r, share, most, "the limit of one request")
	if err != nil || b.o.Weigh == nil {
		return body, err
	}
	weight, err := b.o.Weigh(body)
	if err != nil {
		return nil, &Problem{Status: http.StatusRequestEntityTooLarge, Err: err}
	}
	return body, share.Take(weight)
}

// Read reads a body of up to most bytes and decompresses it; limit is the name of most. Memory is reserved as bytes
// arrive. With an error it returns the decompressed bytes that arrived before it. Errors are Problems.
func (b *Bodies) Read(r *http.Request, share *Share, most int64, limit string) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	zipped := false
	switch enc := r.Header.Get("Content-Encoding"); enc {
	case "", "identity":
	case "zstd":
		zipped = true
	default:
		return nil, Problemf(http.StatusUnsupportedMediaType, "content encoding %q; send zstd or none", enc)
	}
	in := reservedBuffer{share: share, most: most, limit: limit, hint: r.ContentLength}
	err := in.readFrom(r.Body)
	if zipped {
		return b.unpack(r.Context(), &in, err)
	}
	return in.b, bodyError(err)
}

// smallBody is the most bytes of a small body.
const smallBody = 1 << 20

// ReadSmall reads a body that is small, outside any budget. Errors are Problems.
func ReadSmall(r *http.Request) ([]byte, error) {
	in := reservedBuffer{most: smallBody, limit: "the limit of one request", hint: r.ContentLength}
	err := in.readFrom(r.Body)
	return in.b, bodyError(err)
}

// Drain reads a body that is ignored.
func Drain(r io.Reader, most int64, limit string) error {
	n, err := io.Copy(io.Discard, io.LimitReader(r, most+1))
	if n > most {
		err = tooLarge(most, limit)
	}
	return bodyError(err)
}

// unpackFree is the number of bytes to which any body may unpack, however small it is: three times the size of the
// Tinker SDK's requests.
const unpackFree = 16 << 20

// unpack decompresses the received bytes, complete or not. It does not trust the size in a frame's header. After an
// error of reading, came, it decompresses as far as possible and returns that error.
func (b *Bodies) unpack(ctx context.Context, in *reservedBuffer, came error) ([]byte, error) {
	defer in.drop()
	out := reservedBuffer{share: in.share, most: in.most, limit: in.limit}
	if ratio := max(unpackFree, int64(len(in.b))*int64(b.o.Unpack)); ratio < out.most {
		out.most, out.limit = ratio, fmt.Sprintf("MaxUnpack, %d times the %d bytes sent", b.o.Unpack, len(in.b))
	}
	d, err := b.inflaters.get(ctx)
	if err != nil {
		return nil, err
	}
	defer b.inflaters.put(d)
	if err = d.Reset(bytes.NewReader(in.b)); err == nil {
		err = out.readFrom(d)
	}
	var p *Problem
	switch {
	case came != nil:
		return out.b, bodyError(came)
	case errors.As(err, &p):
		return out.b, err
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return out.b, Problemf(http.StatusRequestEntityTooLarge,
			"zstd body: its window is larger than %d bytes; compress it at level 19 or below: %w", maxWindow, err)
	case err != nil && b.o.Malformed != nil:
		return out.b, Problemf(http.StatusBadRequest, "zstd body: %w: %w", b.o.Malformed, err)
	case err != nil:
		return out.b, Problemf(http.StatusBadRequest, "zstd body: %w", err)
	}
	return out.b, nil
}
