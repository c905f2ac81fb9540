// Package checkpoint is the folder of checkpoints: it writes one completely or not at all, reads it with its checksums,
// lists and verifies them. It knows nothing about models that run.
package checkpoint

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Store is the folder of checkpoints: <dir>/<model id>/<kind>/<name>/. A checkpoint is written under a temporary name,
// synced and renamed, so it is complete or absent. Names never contain a tilde; folders that end in one of these are
// not checkpoints.
type Store struct {
	dir string
	fs  disk.FS
	now func() time.Time

	mu sync.RWMutex // write-locked while names change, read-locked while a checkpoint's files are read

	logged  sync.Mutex
	damaged map[string]string // the logged reasons of unreadable checkpoints, by path
}

// New returns the store of a folder, and cleans up what a crash left unless another process may be saving there.
func New(dir string, files disk.FS, now func() time.Time, beside bool) (*Store, error) {
	s := &Store{dir: dir, fs: files, now: now, damaged: map[string]string{}}
	if beside || dir == "" {
		return s, nil
	}
	return s, s.tidy()
}

// View is a time in which checkpoints stay as they are: one that is replaced is not there for a moment.
type View struct{ s *Store }

// View begins a view, in which nothing is saved or deleted. Close ends it.
func (s *Store) View() View {
	s.mu.RLock()
	return View{s}
}

func (v View) Close() { v.s.mu.RUnlock() }

const (
	Unfinished = "~new" // being written
	replaced   = "~old" // the previous checkpoint, until the new one is renamed
)

func (s *Store) folder(p tinker.Path) string {
	return filepath.Join(s.dir, Escape(p.ModelID), string(p.Kind), p.Name)
}

// Escape turns any model id into a file name without path separators or dots.
func Escape(modelID string) string { return strings.ReplaceAll(url.QueryEscape(modelID), ".", "%2E") }

// Read returns a checkpoint's manifest and folder. A missing or expired checkpoint is ErrNotFound.
func (v View) Read(path string) (m Manifest, p tinker.Path, dir string, err error) {
	return v.readAt(path, v.s.now())
}

// Read is [View.Read] in a view that ends with it.
func (s *Store) Read(path string) (m Manifest, p tinker.Path, dir string, err error) {
	v := s.View()
	defer v.Close()
	return v.Read(path)
}

func (v View) readAt(path string, now time.Time) (m Manifest, p tinker.Path, dir string, err error) {
	if p, err = tinker.ParsePath(path); err != nil {
		return m, p, "", err
	}
	dir = v.s.folder(p)
	raw, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, p, dir, tinker.Userf("engine: checkpoint %s: %w", path, tinker.ErrNotFound)
	}
	if err == nil {
		m, err = readManifest(raw)
	}
	if err != nil {
		return m, p, dir, tinker.Serverf("engine: checkpoint %s: %s: %w", path, filepath.Join(dir, manifestFile), err)
	}
	if m.Expires != nil && !now.Before(*m.Expires) {
		return m, p, dir, tinker.Userf("engine: checkpoint %s expired at %s: %w", path, m.Expires.Format(time.RFC3339),
			tinker.ErrNotFound)
	}
	return m, p, dir, nil
}

// Write saves the checkpoint p: files, and a manifest with their checksums. After an error the previous checkpoint is
// still there and nothing of the new one is.
func (s *Store) Write(p tinker.Path, m Manifest, files []File) (err error) {
	final := s.folder(p)
	tmp, parent := final+Unfinished, filepath.Dir(final)
	defer func() {
		if err != nil {
			s.fs.RemoveAll(tmp)
			err = s.explain(p, err)
		}
	}()
	if err := s.fs.RemoveAll(tmp); err != nil {
		return err
	}
	if err := disk.MkdirAll(s.fs, parent); err != nil {
		return err
	}
	if err := s.fs.MkdirAll(tmp); err != nil {
		return err
	}
	if m.Files, err = s.writeFiles(tmp, files); err != nil {
		return err
	}
	m.Sum = m.sum()
	if _, err := s.writeFile(filepath.Join(tmp, manifestFile), JSONFile(manifestFile, m).write); err != nil {
		return err
	}
	if err := s.fs.SyncDir(tmp); err != nil {
		return err
	}
	fresh, err := s.place(tmp, final)
	if err != nil {
		return err
	}
	if err := s.fs.SyncDir(parent); err != nil {
		if fresh { // a power loss may take it
			s.mu.Lock()
			defer s.mu.Unlock()
			err = errors.Join(err, s.fs.Rename(final, tmp))
		}
		return err
	}
	return nil
}

// writeFiles writes files to dir and to folders below it, which it makes. It returns their checksums.
func (s *Store) writeFiles(dir string, files []File) (sums map[string]fileSum, err error) {
	sums, below := map[string]fileSum{}, map[string]bool{}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if in := filepath.Dir(path); in != dir && !below[in] {
			below[in] = true
			if err := s.fs.MkdirAll(in); err != nil {
				return nil, err
			}
		}
		if sums[f.name], err = s.writeFile(path, f.write); err != nil {
			return nil, err
		}
	}
	for in := range below {
		if err := s.fs.SyncDir(in); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// place renames the finished folder, moving an older one out of the way. It is fresh if there was none.
func (s *Store) place(tmp, final string) (fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Stat(final); errors.Is(err, fs.ErrNotExist) {
		return true, s.fs.Rename(tmp, final)
	}
	old := final + replaced
	if err := s.fs.RemoveAll(old); err != nil {
		return false, err
	}
	if err := s.fs.Rename(final, old); err != nil {
		return false, err
	}
	if err := s.fs.Rename(tmp, final); err != nil {
		return false, errors.Join(err, s.fs.Rename(old, final))
	}
	return false, s.fs.RemoveAll(old)
}

func (s *Store) writeFile(path string, write func(io.Writer) error) (fileSum, error) {
	f, err := s.fs.Create(path)
	if err != nil {
		return fileSum{}, err
	}
	var sum fileSum
	w := bufio.NewWriterSize(io.MultiWriter(f, &sum), 1<<20)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return sum, errors.Join(err, f.Close())
}

// explain adds the remedy to an error of writing.
func (s *Store) explain(p tinker.Path, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return tinker.Serverf("engine: saving %s: the disk of %s is full; nothing was saved, free some space and "+
			"save again: %w", p, s.dir, err)
	}
	return tinker.Serverf("engine: saving %s in %s: nothing was saved: %w", p, s.dir, err)
}

// Remove deletes a checkpoint.
func (s *Store) Remove(p tinker.Path) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := s.folder(p)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return tinker.Userf("engine: checkpoint %s: %w", p, tinker.ErrNotFound)
	}
	if err := s.fs.Rename(dir, dir+Unfinished); err != nil { // so that half a checkpoint is never seen
		return tinker.Serverf("engine: deleting %s: %w", p, err)
	}
	if err := s.fs.RemoveAll(dir + Unfinished); err != nil {
		return tinker.Serverf("engine: deleting %s: %w", p, err)
	}
	return s.fs.SyncDir(filepath.Dir(dir))
}

// tidy cleans up after a crash: it removes unfinished folders, and restores a replaced checkpoint whose successor was
// not renamed.
func (s *Store) tidy() error {
	left, err := disk.Glob(s.dir, "*/*/*~*")
	if err != nil {
		return fmt.Errorf("engine: %s: %w", s.dir, err)
	}
	for _, dir := range left {
		final, isOld := strings.CutSuffix(dir, replaced)
		if isOld {
			if _, err := os.Stat(final); errors.Is(err, fs.ErrNotExist) {
				if err := s.fs.Rename(dir, final); err != nil {
					return fmt.Errorf("engine: %w", err)
				}
				continue
			}
		}
		if err := s.fs.RemoveAll(dir); err != nil {
			return fmt.Errorf("engine: %w", err)
		}
	}
	return nil
}

// all returns the paths of the checkpoints, sorted.
func (v View) all() ([]tinker.Path, error) {
	found, err := disk.Glob(v.s.dir, "*/*/*/"+manifestFile)
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", v.s.dir, err)
	}
	var paths []tinker.Path
	for _, f := range found {
		dir := filepath.Dir(f)
		id, err := url.QueryUnescape(filepath.Base(filepath.Dir(filepath.Dir(dir))))
		if err != nil || strings.Contains(filepath.Base(dir), "~") {
			continue
		}
		paths = append(paths, tinker.Path{ModelID: id, Kind: tinker.Kind(filepath.Base(filepath.Dir(dir))),
			Name: filepath.Base(dir)})
	}
	return paths, nil
}

// Expired returns the paths of the checkpoints whose time to live has ended by now.
func (s *Store) Expired(now time.Time) ([]tinker.Path, error) {
	v := s.View()
	defer v.Close()
	paths, err := v.all()
	if err != nil {
		return nil, err
	}
	var gone []tinker.Path
	for _, p := range paths {
		m, _, _, err := v.readAt(p.String(), now)
		if m.Expires != nil && errors.Is(err, tinker.ErrNotFound) {
			gone = append(gone, p)
		}
	}
	return gone, nil
}
