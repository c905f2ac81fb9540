package web

import (
	"context"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// maxWindow is the zstd window that a decoder keeps in memory: 8 MiB, which RFC 8878 (3.1.1.1.2) recommends every
// decoder to support.
const maxWindow = 8 << 20

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
		return nil, fmt.Errorf("web: zstd: %w", err)
	}
	return d, nil
}

func (list inflaters) put(d *zstd.Decoder) {
	if d.Reset(nil) != nil { // releases the body
		d = nil
	}
	list <- d
}
