package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/blob"
)

// shelf has the blobs that workers may ask for. Its lock may be taken while the head's is held.
type shelf struct {
	line   *line
	stores *semaphore.Weighted // blocks being stored
	blocks blocks
	cache  *blob.Cache // for this process: what is offered, until it is withdrawn

	mu      sync.Mutex
	offers  map[string]*offer
	storing map[storeKey]*storing
	wants   map[string]int // being answered, by worker
	bytes   int64          // stored for workers
}

// offer is a blob that workers may ask for.
type offer struct {
	size  int64
	open  func() (io.ReadCloser, error)
	users int
}

func newShelf(l *line) *shelf {
	return &shelf{line: l, stores: semaphore.NewWeighted(mostStoring), offers: map[string]*offer{},
		storing: map[storeKey]*storing{}, wants: map[string]int{}}
}

// openCache opens the cache, without what an earlier start of the head left there.
func (s *shelf) openCache() (err error) {
	if s.cache, err = blob.Open(filepath.Join(s.line.o.Dir, "blobs"), 0); err != nil {
		return err
	}
	if err := s.cache.Clear(); err != nil {
		return fmt.Errorf("fleet: cache: %w", err)
	}
	return nil
}

// offer offers a blob. When it is offered again before it is withdrawn, the first open still reads it.
func (s *shelf) offer(hash string, size int64, open func() (io.ReadCloser, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.offers[hash]; o != nil {
		o.users++
		return
	}
	s.offers[hash] = &offer{size: size, open: open, users: 1}
}

// withdraw ends an offer, when as many calls of withdraw as of offer were made, and removes its chunks.
func (s *shelf) withdraw(hash string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.offers[hash]
	if o == nil {
		return
	}
	if o.users--; o.users > 0 {
		return
	}
	delete(s.offers, hash)
	s.cache.Drop(hash)
	s.line.work.Start(func() { s.line.purge(s.line.names.Blobs(), s.line.names.Chunks(hash)) })
}

// find returns what is offered.
func (s *shelf) find(hash string) (*offer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.offers[hash]
	if o == nil {
		return nil, fmt.Errorf("fleet: the head does not offer blob %.80q", hash)
	}
	return o, nil
}

// stored is the bytes that were stored for workers.
func (s *shelf) stored() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// compute calls f in this process, with the blobs that are offered.
func (s *shelf) compute(ctx context.Context, f Function, t Task) ([]byte, error) {
	var held []func()
	defer func() {
		for _, release := range held {
			release()
		}
	}()
	return f(ctx, t, func(hash string) (string, error) {
		o, err := s.find(hash)
		if err != nil {
			return "", err
		}
		path, release, err := s.cache.Path(ctx, Need{Hash: hash, Size: o.size}, s.readChunk)
		if err != nil {
			return "", err
		}
		held = append(held, release)
		return path, nil
	})
}

// readChunk reads a chunk of an offered blob in this process.
func (s *shelf) readChunk(_ context.Context, hash string, i int, _ bool) ([]byte, error) {
	o, err := s.find(hash)
	if err != nil {
		return nil, err
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
