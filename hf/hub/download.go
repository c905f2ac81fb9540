package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/pause"
)

// blobFile is a blob that is being downloaded: a file of full size that fills in parts, and beside it the list of the
// parts it has. It is called ….trinity and not ….incomplete, whose length tells Python where to resume.
type blobFile struct {
	hub  *Hub
	repo repo
	file remote
	data *os.File
	m    *meter

	mu    sync.Mutex
	state partState
}

// partState is the list, as stored.
type partState struct {
	Size     int64 `json:"size"`
	PartSize int64 `json:"part_size"`
	Done     []int `json:"done"` // parts that were written
}

// download makes blob f.etag present and right. It continues an earlier download; if that turns out to be damaged, it
// fetches the file once more from the beginning.
func (h *Hub) download(ctx context.Context, r repo, commit string, f remote, m *meter) error {
	if st, err := os.Stat(h.blob(r, f.etag)); err == nil && st.Size() == f.size {
		m.add(f.size)
		return nil
	}
	for {
		resumed, err := h.downloadOnce(ctx, r, commit, f, m)
		var damaged *damagedError
		if !resumed || !errors.As(err, &damaged) {
			return err
		}
		m.add(-f.size)
	}
}

func (h *Hub) downloadOnce(ctx context.Context, r repo, commit string, f remote, m *meter) (resumed bool, err error) {
	b := &blobFile{hub: h, repo: r, file: f, m: m}
	if err := b.open(); err != nil {
		return false, fmt.Errorf("hub: %s: %w", f.name, err)
	}
	defer b.data.Close() // closed already once it is whole or damaged
	resumed = len(b.state.Done) > 0
	if err := b.fill(ctx, commit); err != nil {
		return resumed, err
	}
	if err := b.verify(); err != nil {
		return resumed, err
	}
	return resumed, b.finish()
}

func (b *blobFile) path() string { return b.hub.blob(b.repo, b.file.etag) + ".trinity" }

// open opens the file where an earlier download stopped, or anew.
func (b *blobFile) open() error {
	data, err := os.ReadFile(b.path() + ".json")
	if err == nil && (json.Unmarshal(data, &b.state) != nil || !b.state.fits(b.file.size)) {
		b.state = partState{}
	}
	if b.state.PartSize == 0 {
		b.state = partState{Size: b.file.size, PartSize: b.hub.PartSize}
	}
	if b.data, err = os.OpenFile(b.path(), os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return err
	}
	if st, err := b.data.Stat(); err != nil || st.Size() != b.file.size {
		b.state.Done = nil
	}
	return b.data.Truncate(b.file.size)
}

// fits reports whether a stored list can be one of a file of that size.
func (s *partState) fits(size int64) bool {
	if s.Size != size || s.PartSize <= 0 {
		return false
	}
	for i, p := range s.Done {
		if p < 0 || int64(p) >= (size+s.PartSize-1)/s.PartSize || slices.Contains(s.Done[:i], p) {
			return false
		}
	}
	return true
}

// span is the bytes [from, to) of a part.
func (s *partState) span(part int) (from, to int64) {
	from = int64(part) * s.PartSize
	return from, min(from+s.PartSize, s.Size)
}

// fill fetches the parts that are missing, several at a time.
func (b *blobFile) fill(ctx context.Context, commit string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.hub.Parallel)
	had := slices.Clone(b.state.Done)
	for part := 0; int64(part)*b.state.PartSize < b.state.Size; part++ {
		if slices.Contains(had, part) {
			from, to := b.state.span(part)
			b.m.add(to - from)
			continue
		}
		g.Go(func() error { return b.part(ctx, commit, part) })
	}
	return g.Wait()
}

// part fetches one part. A connection that breaks is taken up where it broke, at most five times without a byte in
// between.
func (b *blobFile) part(ctx context.Context, commit string, part int) error {
	select {
	case b.hub.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-b.hub.slots }()
	at, to := b.state.span(part)
	for failed := 0; at < to; {
		n, err := b.piece(ctx, commit, at, to)
		at += n
		if err == nil && n > 0 {
			continue
		}
		if failed++; n > 0 {
			failed = 1
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.As(err, new(*unreachable)) || failed == 5 {
			return err
		}
		if err := pause.For(ctx, b.hub.Pause); err != nil {
			return err
		}
	}
	return b.note(part)
}

// piece asks for the bytes [at, to) and writes what comes of them.
func (b *blobFile) piece(ctx context.Context, commit string, at, to int64) (int64, error) {
	resp, err := b.hub.send(ctx, http.MethodGet, b.address(),
		http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", at, to-1)}})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var body io.Reader = resp.Body
	switch resp.StatusCode {
	case http.StatusPartialContent:
		var from int64
		if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &from); err != nil || from != at {
			return 0, fmt.Errorf("hub: %s: bytes from %d were asked for and Content-Range is %q", b.file.name, at,
				resp.Header.Get("Content-Range"))
		}
	case http.StatusOK: // the server knows no ranges
		if _, err := io.CopyN(io.Discard, body, at); err != nil {
			return 0, &unreachable{b.hub.Endpoint, err}
		}
	case http.StatusForbidden, http.StatusUnauthorized, http.StatusNotFound: // the address was good for a while only
		return 0, b.relocate(ctx, commit, resp)
	default:
		return 0, b.hub.refused(b.repo, b.file.name, resp)
	}
	n, err := io.Copy(io.NewOffsetWriter(b.data, at), &counted{io.LimitReader(body, to-at), b.m})
	if err == nil && n < to-at {
		err = io.ErrUnexpectedEOF
	}
	var onDisk *os.PathError
	if err != nil && !errors.As(err, &onDisk) {
		err = &unreachable{b.hub.Endpoint, err}
	}
	return n, err
}

func (b *blobFile) address() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.file.url
}

// relocate asks the hub for a fresh address. Its error makes the caller try again with it, unless the file is gone or
// another.
func (b *blobFile) relocate(ctx context.Context, commit string, resp *http.Response) error {
	fresh, err := b.hub.locate(ctx, b.repo, commit, b.file.name)
	if err != nil {
		return err
	}
	if fresh.etag != b.file.etag || fresh.size != b.file.size {
		return fmt.Errorf("hub: %s: %s changed while it was downloaded; try again", b.repo, b.file.name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.file.url = fresh.url
	return &unreachable{resp.Request.URL.Host, errors.New(resp.Status)}
}

// note remembers that a part is written.
func (b *blobFile) note(part int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Done = append(b.state.Done, part)
	if b.state.PartSize >= b.state.Size {
		return nil // nothing to continue from
	}
	data, err := json.Marshal(b.state)
	if err != nil {
		return err
	}
	return disk.WriteFile(b.hub.fs, b.path()+".json", data)
}

// finish gives the blob its name, once it is closed.
func (b *blobFile) finish() error {
	if err := errors.Join(b.data.Sync(), b.data.Close()); err != nil {
		return fmt.Errorf("hub: %s: %w", b.file.name, err)
	}
	name := b.hub.blob(b.repo, b.file.etag)
	if err := b.hub.fs.Rename(b.path(), name); err != nil {
		return fmt.Errorf("hub: %s: %w", b.file.name, err)
	}
	return b.hub.fs.Remove(b.path() + ".json")
}

// counted tells the meter what is read.
type counted struct {
	r io.Reader
	m *meter
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.m.add(int64(n))
	return n, err
}
