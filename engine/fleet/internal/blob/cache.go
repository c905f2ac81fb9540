// Package blob keeps blobs by hash in a folder and moves them in chunks. A download continues where it stopped, and
// nothing is used before its SHA-256 was checked.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

const (
	// Chunk is the size of a chunk, in bytes.
	Chunk = 256 << 10
	// Block is the number of chunks that are requested and stored together.
	Block = 32
)

// Chunks is the number of chunks of a blob of this size.
func Chunks(size int64) int { return int((size + Chunk - 1) / Chunk) }

// Get reads one chunk from wherever blobs come from. direct asks for it where the blob itself is: a blob of chunks from
// elsewhere did not have its hash.
type Get func(ctx context.Context, hash string, chunk int, direct bool) ([]byte, error)

// Cache is a folder of blobs, bounded in bytes. What is in use is never removed.
type Cache struct {
	dir   string
	limit int64

	mu      sync.Mutex
	pinned  map[string]int
	dropped map[string]bool // to remove when they are released
	loading map[string]*load
}

type load struct {
	done chan struct{}
	err  error
}

// Open opens a cache in a folder. A limit of 0 means none.
func Open(dir string, limit int64) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("fleet: cache: %w", err)
	}
	return &Cache{dir: dir, limit: limit, pinned: map[string]int{}, dropped: map[string]bool{},
		loading: map[string]*load{}}, nil
}

// Path returns the file of a blob, which it downloads if it is missing. The file stays until release is called.
func (c *Cache) Path(ctx context.Context, n message.Need, get Get) (path string, release func(), err error) {
	if !message.IsHash(n.Hash) {
		return "", nil, fmt.Errorf("fleet: blob %.80q is no hash", n.Hash)
	}
	path = filepath.Join(c.dir, n.Hash)
	c.pin(n.Hash, 1)
	release = sync.OnceFunc(func() { c.pin(n.Hash, -1) })
	if err := c.load(ctx, n, get); err != nil {
		release()
		return "", nil, err
	}
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		release()
		return "", nil, fmt.Errorf("fleet: cache: %w", err)
	}
	return path, release, nil
}

// pin counts the uses of a blob. One that is used again is not dropped any more.
func (c *Cache) pin(hash string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if by > 0 {
		delete(c.dropped, hash)
	}
	if c.pinned[hash] += by; c.pinned[hash] > 0 {
		return
	}
	delete(c.pinned, hash)
	if c.dropped[hash] {
		c.remove(hash)
	}
}

// load makes sure that a blob is there. Several callers share one download; when the one that downloads gives up,
// another continues.
func (c *Cache) load(ctx context.Context, n message.Need, get Get) error {
	for {
		c.mu.Lock()
		if info, err := os.Stat(filepath.Join(c.dir, n.Hash)); err == nil && info.Size() == n.Size {
			c.mu.Unlock()
			return nil
		}
		l := c.loading[n.Hash]
		if l == nil {
			l = &load{done: make(chan struct{})}
			c.loading[n.Hash] = l
			c.mu.Unlock()
			l.err = c.fetch(ctx, n, get)
			c.mu.Lock()
			delete(c.loading, n.Hash)
			c.mu.Unlock()
			close(l.done)
			return l.err
		}
		c.mu.Unlock()
		select {
		case <-l.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if l.err != nil && !errors.Is(l.err, context.Canceled) {
			return l.err
		}
	}
}

// errOther means that a blob does not have its hash.
var errOther = errors.New("it came with other content")

// fetch downloads a blob, from where an earlier download stopped. If the chunks are not those of the blob, it is
// downloaded again from where it is.
func (c *Cache) fetch(ctx context.Context, n message.Need, get Get) error {
	err := c.download(ctx, n, get, false)
	if errors.Is(err, errOther) {
		err = c.download(ctx, n, get, true)
	}
	return err
}

func (c *Cache) download(ctx context.Context, n message.Need, get Get, direct bool) error {
	if err := c.makeRoom(n.Size); err != nil {
		return err
	}
	part := filepath.Join(c.dir, n.Hash+".part")
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("fleet: cache: %w", err)
	}
	defer f.Close() // closed already once it is whole or damaged
	first, err := resume(f, n.Size)
	if err != nil {
		return fmt.Errorf("fleet: cache: %w", err)
	}
	for at := first; at < Chunks(n.Size); at += Block {
		err := appendBlock(ctx, f, n, at, get, direct)
		if errors.Is(err, errOther) {
			return errors.Join(err, f.Close(), os.Remove(part)) // Windows removes no open file
		}
		if err != nil {
			return err
		}
	}
	if err := check(f, n); err != nil {
		return errors.Join(err, f.Close(), os.Remove(part))
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("fleet: cache: %w", err)
	}
	if err := os.Rename(part, filepath.Join(c.dir, n.Hash)); err != nil {
		return fmt.Errorf("fleet: cache: %w", err)
	}
	return nil
}

// resume cuts a partial download to whole chunks and returns how many there are.
func resume(f *os.File, size int64) (int, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	whole := info.Size() / Chunk
	if info.Size() > size {
		whole = 0
	}
	if err := f.Truncate(whole * Chunk); err != nil {
		return 0, err
	}
	_, err = f.Seek(0, io.SeekEnd)
	return int(whole), err
}

// appendBlock downloads the chunks of a block side by side and appends them in order.
func appendBlock(ctx context.Context, f *os.File, n message.Need, at int, get Get, direct bool) error {
	count := min(Block, Chunks(n.Size)-at)
	chunks := make([][]byte, count)
	g, ctx := errgroup.WithContext(ctx)
	for i := range count {
		g.Go(func() (err error) {
			chunks[i], err = get(ctx, n.Hash, at+i, direct)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("fleet: blob %s: %w", n.Hash, err)
	}
	for i, chunk := range chunks {
		if want := min(Chunk, n.Size-int64(at+i)*Chunk); int64(len(chunk)) != want {
			return fmt.Errorf("fleet: blob %s: %w: chunk %d has %d bytes, not %d", n.Hash, errOther, at+i,
				len(chunk), want)
		}
		if _, err := f.Write(chunk); err != nil {
			return fmt.Errorf("fleet: cache: %w", err)
		}
	}
	return nil
}

// check compares a download with its hash.
func check(f *os.File, n message.Need) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("fleet: cache: %w", err)
	}
	s := sha256.New()
	if _, err := io.Copy(s, f); err != nil {
		return fmt.Errorf("fleet: cache: %w", err)
	}
	if got := hex.EncodeToString(s.Sum(nil)); got != n.Hash {
		return fmt.Errorf("fleet: blob %s: %w (%s)", n.Hash, errOther, got)
	}
	return nil
}
