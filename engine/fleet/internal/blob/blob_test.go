package blob

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

// source has blobs, and counts the chunks that were read.
type source struct {
	mu    sync.Mutex
	blobs map[string][]byte
	reads map[int]int
	fail  func(chunk int) error
}

// make returns a new blob of random bytes.
func (s *source) make(size int, seed uint64) message.Need {
	data := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(seed)})
	r.Read(data)
	n := message.Need{Hash: message.Hash(data), Size: int64(size)}
	if s.blobs == nil {
		s.blobs, s.reads = map[string][]byte{}, map[int]int{}
	}
	s.blobs[n.Hash] = data
	return n
}

func (s *source) get(ctx context.Context, hash string, chunk int, _ bool) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads[chunk]++
	if s.fail != nil {
		if err := s.fail(chunk); err != nil {
			return nil, err
		}
	}
	data := s.blobs[hash]
	return data[chunk*Chunk : min((chunk+1)*Chunk, len(data))], ctx.Err()
}

func open(t *testing.T, limit int64) *Cache {
	t.Helper()
	c, err := Open(filepath.Join(t.TempDir(), "blobs"), limit)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fetched returns the content of a blob that the cache loads.
func fetched(t *testing.T, c *Cache, n message.Need, s *source) []byte {
	t.Helper()
	path, release, err := c.Path(t.Context(), n, s.get)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestBlobsOfAnySizeComeWhole(t *testing.T) {
	for _, size := range []int{0, 1, Chunk - 1, Chunk, Chunk + 1, Block*Chunk + 3} {
		var s source
		n := s.make(size, 1)
		c := open(t, 0)
		if got := fetched(t, c, n, &s); !bytes.Equal(got, s.blobs[n.Hash]) {
			t.Errorf("%d bytes came as %d others", size, len(got))
		}
		clear(s.reads)
		if fetched(t, c, n, &s); len(s.reads) != 0 {
			t.Errorf("a blob of %d bytes that is in the cache was read again", size)
		}
	}
}

func TestADownloadGoesOnWhereItStopped(t *testing.T) {
	var s source
	n := s.make(2*Block*Chunk+5, 1)
	c := open(t, 0)
	cut := errors.New("cut")
	s.fail = func(chunk int) error {
		if chunk >= Block {
			return cut
		}
		return nil
	}
	if _, _, err := c.Path(t.Context(), n, s.get); !errors.Is(err, cut) {
		t.Fatalf("a download that was cut: %v", err)
	}
	clear(s.reads)
	s.fail = nil
	if got := fetched(t, c, n, &s); !bytes.Equal(got, s.blobs[n.Hash]) {
		t.Error("the blob came with other bytes")
	}
	if s.reads[0] != 0 || s.reads[Block-1] != 0 || s.reads[Block] != 1 {
		t.Errorf("chunks 0, %d and %d were read %d, %d and %d times again; want only the last", Block-1, Block,
			s.reads[0], s.reads[Block-1], s.reads[Block])
	}
}

func TestNothingWrongIsUsed(t *testing.T) {
	var s source
	n := s.make(3*Chunk, 1)
	right := s.blobs[n.Hash]
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"other content": {append([]byte{right[0] ^ 1}, right[1:]...), "other content"},
		"a short chunk": {right[:2*Chunk+7], "chunk 2 has 7 bytes"},
	} {
		cache := open(t, 0)
		s.blobs[n.Hash] = c.data
		if _, _, err := cache.Path(t.Context(), n, s.get); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q in it", name, err, c.want)
		}
		if _, known := cache.Known(n.Hash); known {
			t.Errorf("%s: the blob is in the cache", name)
		}
		s.blobs[n.Hash] = right
		if got := fetched(t, cache, n, &s); !bytes.Equal(got, right) {
			t.Errorf("%s: it is not loaded anew", name)
		}
	}
	for _, hash := range []string{"", "../../x", strings.Repeat("A", 64)} {
		if _, _, err := open(t, 0).Path(t.Context(), message.Need{Hash: hash}, s.get); err == nil {
			t.Errorf("hash %q: no error", hash)
		}
	}
}

func TestTheCacheStaysBelowItsLimit(t *testing.T) {
	var s source
	c := open(t, 3*Chunk)
	var needs []message.Need
	for i := range 3 {
		needs = append(needs, s.make(Chunk, uint64(i+1)))
		fetched(t, c, needs[i], &s)
		old := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(filepath.Join(c.dir, needs[i].Hash), old, old); err != nil {
			t.Fatal(err)
		}
	}
	_, release, err := c.Path(t.Context(), needs[0], s.get) // in use, and used last
	if err != nil {
		t.Fatal(err)
	}
	fetched(t, c, s.make(2*Chunk, 9), &s)
	if _, known := c.Known(needs[0].Hash); !known {
		t.Error("a blob in use was removed")
	}
	for _, n := range needs[1:] {
		if _, known := c.Known(n.Hash); known {
			t.Error("a blob that was not used for longest is still there")
		}
	}
	if got := c.Size(); got != 3*Chunk {
		t.Errorf("%d bytes; want %d", got, 3*Chunk)
	}
	release()
	if _, _, err := c.Path(t.Context(), s.make(4*Chunk, 10), s.get); err == nil {
		t.Error("no error of a blob above the limit")
	}
}

func TestADroppedBlobLeavesWithItsLastUser(t *testing.T) {
	var s source
	n := s.make(Chunk+1, 1)
	c := open(t, 0)
	gone := func() bool {
		left, err := os.ReadDir(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(left) == 0
	}
	_, release, err := c.Path(t.Context(), n, s.get)
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := c.Path(t.Context(), n, s.get)
	if err != nil {
		t.Fatal(err)
	}
	c.Drop(n.Hash)
	if release(); gone() {
		t.Error("a blob in use was removed")
	}
	if other(); !gone() {
		t.Error("a dropped blob is there after its last use")
	}
	fetched(t, c, n, &s)
	if c.Drop(n.Hash); !gone() {
		t.Error("an unused blob is there after it was dropped")
	}
	fetched(t, c, n, &s)
	s.fail = func(chunk int) error { return errors.New("cut") }
	c.Path(t.Context(), s.make(2*Chunk, 2), s.get)
	if err := c.Clear(); err != nil || !gone() {
		t.Errorf("a cleared cache has something (%v)", err)
	}
}

func TestCallersShareADownload(t *testing.T) {
	var s source
	n := s.make(Chunk, 1)
	c := open(t, 0)
	gone, give := context.WithCancel(t.Context())
	first := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // begins the download and gives up
		_, _, err := c.Path(gone, n, func(ctx context.Context, _ string, _ int, _ bool) ([]byte, error) {
			close(first)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the caller that gave up: %v", err)
		}
	})
	<-first
	for range 4 {
		wg.Go(func() {
			if got := fetched(t, c, n, &s); !bytes.Equal(got, s.blobs[n.Hash]) {
				t.Error("the blob came with other bytes")
			}
		})
	}
	give()
	wg.Wait()
	if s.reads[0] != 1 {
		t.Errorf("the chunk was read %d times; want once", s.reads[0])
	}
}
