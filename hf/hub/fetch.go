package hub

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// fetch downloads what choose names of the repository and returns its folder. Files get their names in the snapshot
// when all of them are here and checked.
func (h *Hub) fetch(ctx context.Context, r repo, choose Choose) (string, error) {
	v, err := h.revisionOf(ctx, r)
	if err != nil {
		return "", err
	}
	if err := disk.MkdirAll(h.fs, h.blob(r, "")); err != nil {
		return "", fmt.Errorf("hub: %s: %w", r, err)
	}
	l := Listing{Names: v.names(), Read: func(ctx context.Context, name string) ([]byte, error) {
		return h.read(ctx, r, v.Commit, name)
	}}
	names, err := choose(ctx, l)
	if err != nil {
		return "", fmt.Errorf("hub: %s at %s: %w", r, h.Endpoint, err)
	}
	files, err := h.locateAll(ctx, r, v.Commit, names)
	if err != nil {
		return "", err
	}
	if err := h.downloadAll(ctx, r, v.Commit, files); err != nil {
		return "", err
	}
	if err := h.publishAll(r, v.Commit, files); err != nil {
		return "", fmt.Errorf("hub: %s: %w", r, err)
	}
	if err := h.remember(r, v.Commit); err != nil {
		return "", fmt.Errorf("hub: %s: %w", r, err)
	}
	return h.snapshot(r, v.Commit), nil
}

// read fetches one small file that is needed to choose the others.
func (h *Hub) read(ctx context.Context, r repo, commit, name string) ([]byte, error) {
	f, err := h.locate(ctx, r, commit, name)
	if err != nil {
		return nil, err
	}
	if f.size > disk.BigFile {
		return nil, fmt.Errorf("%s has %d bytes, and the limit for such a file is %d; choose another repository", name,
			f.size, int64(disk.BigFile))
	}
	m := &meter{}
	if err := h.download(ctx, r, commit, f, m); err != nil {
		return nil, err
	}
	return disk.ReadFile(h.blob(r, f.etag), disk.BigFile)
}

func (h *Hub) locateAll(ctx context.Context, r repo, commit string, names []string) ([]remote, error) {
	files := make([]remote, len(names))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(h.Parallel)
	for i, name := range names {
		g.Go(func() (err error) {
			files[i], err = h.locate(ctx, r, commit, name)
			return err
		})
	}
	return files, g.Wait()
}

func (h *Hub) downloadAll(ctx context.Context, r repo, commit string, files []remote) error {
	m := &meter{tell: h.Progress, p: Progress{Name: r.id, Files: len(files)}}
	for _, f := range files {
		m.p.Bytes += f.size
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(h.Parallel)
	seen := map[string]bool{} // files of one content are one blob
	for _, f := range files {
		if seen[f.etag] {
			m.add(f.size)
			continue
		}
		seen[f.etag] = true
		g.Go(func() error { return h.download(ctx, r, commit, f, m) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return h.fs.SyncDir(filepath.Dir(h.blob(r, "x")))
}

// meter adds up the bytes of a download.
type meter struct {
	mu   sync.Mutex
	p    Progress
	tell func(Progress)
}

// add counts n more bytes; n is negative when bytes turn out to be wrong.
func (m *meter) add(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p.Done += n
	if m.tell != nil {
		m.tell(m.p)
	}
}
