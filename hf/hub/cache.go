package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// cached returns the folder of the snapshot in the cache, or what it lacks.
func (h *Hub) cached(ctx context.Context, r repo, choose Choose) (string, error) {
	commit, err := h.commit(r)
	if err != nil {
		return "", err
	}
	dir := h.snapshot(r, commit)
	l, err := listFolder(dir)
	if err != nil {
		return "", err
	}
	_, err = choose(ctx, l)
	return dir, err
}

// commit is the commit that the cache knows for the revision.
func (h *Hub) commit(r repo) (string, error) {
	if commitRule.MatchString(r.revision) {
		return r.revision, nil
	}
	data, err := os.ReadFile(h.ref(r))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is not in it", r)
	}
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(string(data))
	if !commitRule.MatchString(commit) {
		return "", fmt.Errorf("%s holds %q, which is not a commit", h.ref(r), commit)
	}
	return commit, nil
}

func (h *Hub) ref(r repo) string {
	return filepath.Join(h.Cache, r.folder(), "refs", filepath.FromSlash(r.revision))
}

func (h *Hub) snapshot(r repo, commit string) string {
	return filepath.Join(h.Cache, r.folder(), "snapshots", commit)
}

func (h *Hub) blob(r repo, etag string) string {
	return filepath.Join(h.Cache, r.folder(), "blobs", etag)
}

// listFolder lists the files of a snapshot. A link to a blob that is not there is no file.
func listFolder(dir string) (Listing, error) {
	l := Listing{Local: true, Read: func(_ context.Context, name string) ([]byte, error) {
		return disk.ReadFile(filepath.Join(dir, filepath.FromSlash(name)), disk.BigFile)
	}}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if st, err := os.Stat(p); err != nil || st.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		l.Names = append(l.Names, filepath.ToSlash(rel))
		return err
	})
	slices.Sort(l.Names)
	return l, err
}

// publishAll gives the files their names in the snapshot and makes those durable.
func (h *Hub) publishAll(r repo, commit string, files []remote) error {
	folders := map[string]bool{}
	for _, f := range files {
		if err := h.publish(r, commit, f.name, f.etag); err != nil {
			return err
		}
		folders[filepath.Dir(filepath.Join(h.snapshot(r, commit), filepath.FromSlash(f.name)))] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		if err := h.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// publish makes name of the snapshot lead to the blob: by a link, or by a copy where there are no links.
func (h *Hub) publish(r repo, commit, name, etag string) error {
	at := filepath.Join(h.snapshot(r, commit), filepath.FromSlash(name))
	if _, err := os.Stat(at); err == nil {
		return nil
	}
	if err := disk.MkdirAll(h.fs, filepath.Dir(at)); err != nil {
		return err
	}
	target := strings.Repeat("../", strings.Count(path.Clean(name), "/")+2) + "blobs/" + etag
	tmp := at + ".trinity"
	if err := h.fs.Remove(tmp); err != nil {
		return err
	}
	if err := os.Symlink(filepath.FromSlash(target), tmp); err != nil {
		return disk.CopyFile(h.fs, h.blob(r, etag), at)
	}
	return h.fs.Rename(tmp, at)
}

// remember writes which commit the revision is. It comes last: a ref leads to whole snapshots only.
func (h *Hub) remember(r repo, commit string) error {
	if r.revision == commit {
		return nil
	}
	if err := disk.MkdirAll(h.fs, filepath.Dir(h.ref(r))); err != nil {
		return err
	}
	return disk.WriteFile(h.fs, h.ref(r), []byte(commit))
}
