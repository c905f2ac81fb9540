package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/blob"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

// offer is a blob that workers may ask for.
type offer struct {
	size  int64
	open  func() (io.ReadCloser, error)
	users int
}

// storeKey names a block of chunks.
type storeKey struct {
	hash  string
	first int
}

// storing is a block that is being stored, for all who ask meanwhile.
type storing struct {
	done chan struct{}
	err  error
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

// onWant stores the chunks that a worker did not find.
func (h *Head) onWant(m *nats.Msg) {
	var w message.Want
	if _, err := message.Decode(m.Data, &w); err != nil {
		h.bad(last(m.Subject), err.Error())
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.offers[w.Hash]
	if o == nil {
		h.spawn(func() { h.reply(m, message.Stored{Error: "the head does not offer blob " + w.Hash}) })
		return
	}
	key := storeKey{w.Hash, w.First / blob.Block * blob.Block}
	s := h.storing[key]
	if s == nil {
		s = &storing{done: make(chan struct{})}
		h.storing[key] = s
		h.spawn(func() { h.store(key, o, s) })
	}
	h.spawn(func() {
		select {
		case <-s.done:
		case <-h.ctx.Done():
			return
		}
		reply := message.Stored{Size: o.size}
		if s.err != nil {
			reply.Error, reply.Again = s.err.Error(), true
		}
		h.reply(m, reply)
	})
}

// store puts a block of a blob's chunks into the stream.
func (h *Head) store(key storeKey, o *offer, s *storing) {
	s.err = h.storeBlock(key, o)
	h.mu.Lock()
	delete(h.storing, key)
	h.mu.Unlock()
	close(s.done)
}

func (h *Head) storeBlock(key storeKey, o *offer) error {
	r, err := openAt(o, int64(key.first)*blob.Chunk)
	if err != nil {
		return fmt.Errorf("fleet: blob %s: %w", key.hash, err)
	}
	defer r.Close()
	var acks []jetstream.PubAckFuture
	for i := key.first; i < min(key.first+blob.Block, blob.Chunks(o.size)); i++ {
		chunk := make([]byte, min(blob.Chunk, o.size-int64(i)*blob.Chunk))
		if _, err := io.ReadFull(r, chunk); err != nil {
			return fmt.Errorf("fleet: blob %s, chunk %d: %w", key.hash, i, err)
		}
		ack, err := h.js.PublishAsync(h.names.Chunk(key.hash, i), chunk)
		if err != nil {
			h.unwell(err)
			return fmt.Errorf("fleet: blob %s, chunk %d: %w", key.hash, i, err)
		}
		acks = append(acks, ack)
	}
	late := time.After(publishPatience)
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return err
		case <-late:
			return errors.New("fleet: the store of NATS does not answer")
		case <-h.ctx.Done():
			return ErrClosed
		}
	}
	h.mu.Lock()
	h.counts.BlobBytes += int64(len(acks)) * blob.Chunk
	h.mu.Unlock()
	return nil
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
func (h *Head) readChunk(_ context.Context, hash string, i int) ([]byte, error) {
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
