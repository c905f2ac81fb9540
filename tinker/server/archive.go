package server

import (
	"archive/tar"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// archiveFor is how long an archive address works.
const archiveFor = 15 * time.Minute

// archiveURL gives an address from which the checkpoint can be fetched without a key for a while.
func (s *Server) archiveURL(c *call) (any, error) {
	k, err := s.checkpointOf(c, s.readableOnly)
	if err != nil {
		return nil, err
	}
	expires := s.opts.Now().Add(archiveFor).UTC().Truncate(time.Second)
	return wire.ArchiveURL{URL: s.address(c, tokenArchive, k.Path.String(), expires), Expires: expires}, nil
}

// marker is the empty file that says to the SDK's tools that an archive is whole.
const marker = "checkpoint_complete"

// download streams a checkpoint's files as a tar, at its root: an adapter as PEFT loads it.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	kind, path, until, ok := s.parseToken(r.PathValue("token"))
	if !ok || kind != tokenArchive && kind != tokenFile || s.opts.Now().Unix() > until {
		s.fail(w, r, status(http.StatusForbidden, "this address is wrong or has expired; ask for a new one"))
		return
	}
	if kind == tokenFile {
		if err := s.sendFile(w, r, path); err != nil {
			s.fail(w, r, err)
		}
		return
	}
	files, size, err := s.openFiles(path)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	w.Header().Set("Content-Type", "application/x-tar")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	if err := writeTar(w, files); err != nil {
		s.opts.Log.Warn("an archive was not fetched whole", "path", path, "error", err)
	}
}

// openFiles opens a checkpoint's files, so that a deletion meanwhile harms nobody, and returns the size of their tar.
func (s *Server) openFiles(path string) (files []*os.File, size int64, err error) {
	if _, err := s.find(path); err != nil {
		return nil, 0, err
	}
	dir, err := s.opts.Store.Folder(path)
	if err != nil {
		return nil, 0, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, fmt.Errorf("server: %w", err)
	}
	size = 512 + 1024 // the marker's header and the end
	for _, e := range entries {
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return files, 0, fmt.Errorf("server: %w", err)
		}
		files = append(files, f)
		st, err := f.Stat()
		if err != nil {
			return files, 0, fmt.Errorf("server: %w", err)
		}
		size += 512 + (st.Size()+511)/512*512
	}
	return files, size, nil
}

func writeTar(w io.Writer, files []*os.File) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		st, err := f.Stat()
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Name: filepath.Base(f.Name()), Mode: 0o644, Size: st.Size(), ModTime: st.ModTime().Truncate(time.Second), Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := io.Copy(t, f); err != nil {
			return err
		}
	}
	if err := t.WriteHeader(&tar.Header{Name: marker, Mode: 0o644, Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	return t.Close()
}
