package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/blob"
)

// offer is a blob that workers may ask for.
type offer struct {
	size  int64
	open  func() (io.ReadCloser, error)
	users int
}

// Offer lets workers ask for a blob. open may be called several times and at once; what it returns is read once, or
// from any place if it is an io.Seeker. Nothing is sent until a worker asks. When a blob is offered again before it is
// withdrawn, the first open still reads it.
func (h *Head) Offer(hash string, size int64, open func() (io.ReadCloser, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.offer(hash, size, open)
}

func (h *Head) offer(hash string, size int64, open func() (io.ReadCloser, error)) {
	if o := h.offers[hash]; o != nil {
		o.users++
		return
	}
	h.offers[hash] = &offer{size: size, open: open, users: 1}
}

// Withdraw ends an offer, when as many calls of Withdraw as of Offer were made. Its chunks are removed.
func (h *Head) Withdraw(hash string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.withdraw(hash)
}

func (h *Head) withdraw(hash string) {
	o := h.offers[hash]
	if o == nil {
		return
	}
	if o.users--; o.users > 0 {
		return
	}
	delete(h.offers, hash)
	h.blobs.Drop(hash)
	h.spawn(func() {
		ctx, cancel := context.WithTimeout(h.ctx, mendPatience)
		defer cancel()
		s, err := h.js.Stream(ctx, h.names.Blobs())
		if err == nil {
			err = s.Purge(ctx, jetstream.WithPurgeSubject(h.names.Chunks(hash)))
		}
		if err != nil {
			h.unwell(err)
		}
	})
}

// openAt opens a blob at an offset.
func openAt(o *offer, at int64) (io.ReadCloser, error) {
	r, err := o.open()
	if err != nil {
		return nil, err
	}
	if s, ok := r.(io.Seeker); ok {
		_, err = s.Seek(at, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, r, at)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// readChunk reads a chunk of an offered blob in this process, for Local.
func (h *Head) readChunk(_ context.Context, hash string, i int, _ bool) ([]byte, error) {
	h.mu.Lock()
	o := h.offers[hash]
	h.mu.Unlock()
	if o == nil {
		return nil, fmt.Errorf("fleet: blob %s is not offered", hash)
	}
	r, err := openAt(o, int64(i)*blob.Chunk)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	chunk := make([]byte, min(blob.Chunk, o.size-int64(i)*blob.Chunk))
	_, err = io.ReadFull(r, chunk)
	return chunk, err
}
