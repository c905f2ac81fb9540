package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/blob"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

const (
	mostWants   = 1024 // requests for chunks of one worker that are answered at a time
	mostStoring = 4    // blocks that are stored at a time; to read one may take the memory of a model's weights
	mostBlocks  = 4    // blocks that are kept to send their chunks
)

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

// want stores the chunks that a worker did not find, or sends it one, and answers m. bad is told of what the worker may
// not want.
func (s *shelf) want(m *nats.Msg, worker string, w message.Want, bad func(worker, what string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wants[worker] >= mostWants {
		return // it asks again
	}
	s.wants[worker]++
	o := s.offers[w.Hash]
	s.line.work.Start(func() {
		defer s.wanted(worker)
		key := storeKey{w.Hash, w.First / blob.Block * blob.Block}
		switch {
		case o == nil:
			s.line.reply(m, message.Stored{Error: "the head does not offer blob " + w.Hash})
		case w.First >= blob.Chunks(o.size) && (w.First > 0 || w.Direct):
			bad(worker, fmt.Sprintf("it wants chunk %d of a blob of %d bytes", w.First, o.size))
			s.line.reply(m, message.Stored{Error: fmt.Sprintf("the blob has no chunk %d", w.First)})
		case w.Direct:
			s.sendChunk(m, w, key, o)
		default:
			s.line.reply(m, s.awaitStored(key, o))
		}
	})
}

// wanted notes that a worker's request for chunks was answered.
func (s *shelf) wanted(worker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wants[worker]--; s.wants[worker] == 0 {
		delete(s.wants, worker)
	}
}

// sendChunk answers with a chunk. A worker that asks got another one from the store, so the store is repaired too.
func (s *shelf) sendChunk(m *nats.Msg, w message.Want, key storeKey, o *offer) {
	block, err := s.blocks.get(key, func() ([][]byte, error) { return readBlock(key, o) })
	if err != nil {
		s.line.reply(m, message.Stored{Error: err.Error(), Again: true})
		return
	}
	chunk := block[w.First-key.first]
	s.line.replyWith(m, message.Stored{Size: o.size}, chunk)
	got, err := stored(s.line.ctx, s.line.nc, s.line.names.Blobs(), s.line.names.Chunk(w.Hash, w.First))
	if err != nil || bytes.Equal(got, chunk) {
		return // what is missing is stored when it is asked for
	}
	s.line.logf("", "fleet: chunk %d of blob %.12s in NATS is not what the head stored; it is stored again. Whoever "+
		"holds credentials of a worker or of the cluster can do that: see docs/guide/fleet.md", w.First, w.Hash)
	if _, err := s.line.js.Publish(s.line.ctx, s.line.names.Chunk(w.Hash, w.First), chunk); err != nil {
		s.line.unwell(err)
	}
}

// awaitStored stores a block of chunks, with others who ask meanwhile, and returns the answer.
func (s *shelf) awaitStored(key storeKey, o *offer) message.Stored {
	s.mu.Lock()
	b := s.storing[key]
	if b == nil {
		b = &storing{done: make(chan struct{})}
		s.storing[key] = b
		s.line.work.Start(func() { s.store(key, o, b) })
	}
	s.mu.Unlock()
	reply := message.Stored{Size: o.size}
	select {
	case <-b.done:
		if b.err != nil {
			reply.Error, reply.Again = b.err.Error(), true
		}
	case <-s.line.ctx.Done():
		reply.Error, reply.Again = ErrClosed.Error(), true
	}
	return reply
}

// store puts a block of a blob's chunks into the stream.
func (s *shelf) store(key storeKey, o *offer, b *storing) {
	if b.err = s.stores.Acquire(s.line.ctx, 1); b.err == nil {
		b.err = s.storeBlock(key, o)
		s.stores.Release(1)
	}
	s.mu.Lock()
	delete(s.storing, key)
	s.mu.Unlock()
	close(b.done)
}

func (s *shelf) storeBlock(key storeKey, o *offer) error {
	block, err := readBlock(key, o)
	if err != nil {
		return err
	}
	var acks []jetstream.PubAckFuture
	for i, chunk := range block {
		ack, err := s.line.js.PublishAsync(s.line.names.Chunk(key.hash, key.first+i), chunk)
		if err != nil {
			s.line.unwell(err)
			return fmt.Errorf("fleet: blob %s, chunk %d: %w", key.hash, key.first+i, err)
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
		case <-s.line.ctx.Done():
			return ErrClosed
		}
	}
	s.mu.Lock()
	s.bytes += int64(len(acks)) * blob.Chunk
	s.mu.Unlock()
	return nil
}

// readBlock reads a block of chunks of what is offered.
func readBlock(key storeKey, o *offer) (block [][]byte, err error) {
	r, err := openAt(o, int64(key.first)*blob.Chunk)
	if err != nil {
		return nil, fmt.Errorf("fleet: blob %s: %w", key.hash, err)
	}
	defer r.Close()
	for i := key.first; i < min(key.first+blob.Block, blob.Chunks(o.size)); i++ {
		chunk := make([]byte, min(blob.Chunk, o.size-int64(i)*blob.Chunk))
		if _, err := io.ReadFull(r, chunk); err != nil {
			return nil, fmt.Errorf("fleet: blob %s, chunk %d: %w", key.hash, i, err)
		}
		block = append(block, chunk)
	}
	return block, nil
}

// blocks keeps the blocks that were read last, of which all chunks are asked for one by one. One is read at a time.
type blocks struct {
	mu    sync.Mutex
	byKey map[storeKey][][]byte
	order []storeKey
}

func (b *blocks) get(key storeKey, read func() ([][]byte, error)) ([][]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if block, known := b.byKey[key]; known {
		return block, nil
	}
	block, err := read()
	if err != nil {
		return nil, err
	}
	if b.byKey == nil {
		b.byKey = map[storeKey][][]byte{}
	}
	b.byKey[key], b.order = block, append(b.order, key)
	if len(b.order) > mostBlocks {
		delete(b.byKey, b.order[0])
		b.order = b.order[1:]
	}
	return block, nil
}
