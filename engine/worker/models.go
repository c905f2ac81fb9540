package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// idleAfter is how long base weights stay in memory that no task uses.
const idleAfter = 10 * time.Minute

// models is the folder of base models: one folder for each manifest, by its hash. A folder is complete or absent, and
// its files had the right hashes when they came.
type models struct {
	dir    string
	limit  int64
	memory int64 // that a base model's weights may take; 0 is no limit
	hub    func(ctx context.Context, repo, revision string) (string, error)
	log    *slog.Logger

	mu     sync.Mutex // one model at a time
	before []string   // hashes of manifests that tasks of this process use
}

// folder returns the folder of a version's base model, which it makes if it is not there: of files from the hub, or of
// the blobs that the head has.
func (m *models) folder(ctx context.Context, v executor.Version, have Have) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !executor.IsHash(v.Manifest) {
		return "", fmt.Errorf("worker: the version names no manifest: %q", v.Manifest)
	}
	dir := filepath.Join(m.dir, v.Manifest)
	if !slices.Contains(m.before, v.Manifest) {
		m.before = append(m.before, v.Manifest)
	}
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		now := time.Now()
		return dir, os.Chtimes(dir, now, now)
	}
	list, err := m.manifest(v.Manifest, have)
	if err != nil {
		return "", err
	}
	if list.Base != v.Base {
		return "", fmt.Errorf("worker: manifest %.12s is of base model %.20s, the version of %.20s", v.Manifest,
			list.Base, v.Base)
	}
	if err := m.room(list); err != nil {
		return "", err
	}
	if err := m.make(ctx, dir, list, have); err != nil {
		return "", fmt.Errorf("worker: base model %s: %w", list.Name, err)
	}
	return dir, nil
}

func (m *models) manifest(hash string, have Have) (executor.Manifest, error) {
	path, err := have(hash)
	if err != nil {
		return executor.Manifest{}, err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return executor.Manifest{}, fmt.Errorf("worker: %w", err)
	}
	if executor.HashOf(raw) != hash {
		return executor.Manifest{}, fmt.Errorf("worker: manifest %.12s has another content", hash)
	}
	return executor.ParseManifest(raw)
}

// room removes models of earlier processes until a further one fits, the least recently used first.
func (m *models) room(list executor.Manifest) error {
	type model struct {
		path  string
		bytes int64
		used  time.Time
	}
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	sum := int64(0)
	for _, f := range list.Files {
		sum += f.Size
	}
	if m.memory > 0 && sum > m.memory {
		return fmt.Errorf("worker: the weights of base model %s take %d bytes and may take %d, half of the worker's "+
			"memory; give --max-memory %d or more", list.Name, sum, m.memory, 2*sum)
	}
	if sum > m.limit {
		return fmt.Errorf("worker: base model %s takes %d bytes and the cache may have %d; raise the limit", list.Name,
			sum, m.limit)
	}
	var old []model
	for _, e := range entries {
		path := filepath.Join(m.dir, e.Name())
		st, err := e.Info()
		if err != nil {
			continue
		}
		n := folderBytes(path)
		sum += n
		if !slices.Contains(m.before, e.Name()) {
			old = append(old, model{path, n, st.ModTime()})
		}
	}
	slices.SortFunc(old, func(a, b model) int { return a.used.Compare(b.used) })
	for _, o := range old {
		if sum <= m.limit {
			break
		}
		m.log.Info("base model leaves the cache", "folder", o.path, "bytes", o.bytes)
		if err := os.RemoveAll(o.path); err != nil {
			return fmt.Errorf("worker: %w", err)
		}
		sum -= o.bytes
	}
	if sum > m.limit {
		return fmt.Errorf("worker: base model %s does not fit into the cache beside those in use: %d of %d bytes; "+
			"raise the limit", list.Name, sum, m.limit)
	}
	return nil
}

func folderBytes(dir string) (n int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if st, err := e.Info(); err == nil {
			n += st.Size()
		}
	}
	return n
}

// make fills a folder under a temporary name and renames it.
func (m *models) make(ctx context.Context, dir string, list executor.Manifest, have Have) error {
	fresh, err := os.MkdirTemp(m.dir, "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	hub := ""
	if m.hub != nil && list.Repo != "" {
		if hub, err = m.hub(ctx, list.Repo, list.Revision); err != nil {
			m.log.Info("base model is not to be had from the hub; asking the head", "model", list.Repo, "reason", err)
			hub = ""
		}
	}
	for _, f := range list.Files {
		to := filepath.Join(fresh, f.Name)
		if hub != "" && place(ctx, filepath.Join(hub, f.Name), to, f) == nil {
			continue
		}
		path, err := have(f.Hash)
		if err == nil {
			err = place(ctx, path, to, f)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return os.Rename(fresh, dir)
}

// place links a file, or copies it where that is not possible, and checks its hash.
func place(ctx context.Context, from, to string, want executor.File) error {
	if real, err := filepath.EvalSymlinks(from); err == nil { // the hub's cache has links
		from = real
	}
	os.Remove(to)
	if err := os.Link(from, to); err != nil {
		if err := disk.CopyFile(disk.OS(), from, to); err != nil {
			return err
		}
	}
	f, err := os.Open(to)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.CopyBuffer(h, reader{ctx, f}, make([]byte, 1<<20))
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); n != want.Size || got != want.Hash {
		return fmt.Errorf("%d bytes with sha256 %.12s, want %d with %.12s", n, got, want.Size, want.Hash)
	}
	return nil
}

// reader ends with ctx.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(b)
}
