package checkpoint

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// archiveFor is how long an archive address works.
const archiveFor = 15 * time.Minute

// ArchiveURL returns an address from which the checkpoint can be downloaded without a key for archiveFor.
func (s *Checkpoints) ArchiveURL(c *edge.Call) (any, error) {
	k, err := s.checkpointOf(c, s.readableOnly)
	if err != nil {
		return nil, err
	}
	expires := s.Life.Now().Add(archiveFor).UTC().Truncate(time.Second)
	return wire.ArchiveURL{URL: s.address(c, ticket.Archive, k.Path.String(), expires), Expires: expires}, nil
}

// Marker is the empty file that tells the SDK's tools that an archive is complete.
const Marker = "checkpoint_complete"

// Download streams a checkpoint's files as a tar, at its root. An adapter is in PEFT's format.
func (s *Checkpoints) Download(w http.ResponseWriter, r *http.Request) {
	kind, path, until, ok := s.Tickets.Parse(r.PathValue("token"))
	if !ok || kind != ticket.Archive && kind != ticket.File || s.Life.Now().Unix() > until {
		s.Edge.Fail(w, r, edge.Status(http.StatusForbidden, "this address is wrong or has expired; ask for a new one"))
		return
	}
	if kind == ticket.File {
		if err := s.sendFile(w, r, path); err != nil {
			s.Edge.Fail(w, r, err)
		}
		return
	}
	members, err := s.members(path)
	defer closeAll(members)
	if err != nil {
		s.Edge.Fail(w, r, err)
		return
	}
	size := int64(512 + 1024) // the marker's header and the end
	for _, m := range members {
		size += 512 + (m.Size+511)/512*512
	}
	w.Header().Set("Content-Type", "application/x-tar")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	if err := writeTar(w, members); err != nil {
		s.Life.Log.Warn("an archive was not downloaded completely", "path", path, "error", err)
	}
}

// archiveMember is a file of a checkpoint as it is exported.
type archiveMember struct {
	tinker.ExportFile
	changed time.Time
	file    *os.File // the checkpoint's own file; nil if it is exported in another form
}

func closeAll(members []archiveMember) {
	for _, m := range members {
		m.Close() // nothing was written to it
	}
}

// members opens a checkpoint's files, so that a concurrent deletion does not affect the download.
func (s *Checkpoints) members(path string) (list []archiveMember, err error) {
	if _, err := s.Find(path); err != nil {
		return nil, err
	}
	dir, err := s.Store.Folder(path)
	if err != nil {
		return nil, err
	}
	names, err := disk.Files(dir)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	other, err := s.exported(path)
	for _, name := range names {
		m := archiveMember{}
		if err == nil {
			m, err = openMember(dir, name)
		}
		if err != nil {
			break
		}
		if at := slices.IndexFunc(other, func(x tinker.ExportFile) bool { return x.Name == m.Name }); at >= 0 {
			m.Close()
			m.ExportFile, m.file = other[at], nil
			other = slices.Delete(other, at, at+1)
		}
		list = append(list, m)
	}
	for _, x := range other {
		x.Close()
	}
	return list, err
}

// exported returns the files that the Store exports in another form.
func (s *Checkpoints) exported(path string) ([]tinker.ExportFile, error) {
	if e, ok := s.Store.(Exporter); ok {
		return e.Export(path)
	}
	return nil, nil
}

// openMember opens a file by its path below dir, with slashes, which is its name in an archive too.
func openMember(dir, name string) (archiveMember, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return archiveMember{}, fmt.Errorf("server: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		return archiveMember{}, fmt.Errorf("server: %w", errors.Join(err, f.Close()))
	}
	return archiveMember{
		file:    f,
		changed: st.ModTime(),
		ExportFile: tinker.ExportFile{Name: name, Size: st.Size(), Close: f.Close,
			Write: func(w io.Writer) error {
				_, err := io.Copy(w, f)
				return err
			}},
	}, nil
}

func writeTar(w io.Writer, members []archiveMember) error {
	t := tar.NewWriter(w)
	for _, m := range members {
		if err := t.WriteHeader(&tar.Header{Name: m.Name, Mode: 0o644, Size: m.Size,
			ModTime: m.changed.Truncate(time.Second), Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if err := m.Write(t); err != nil {
			return err
		}
	}
	if err := t.WriteHeader(&tar.Header{Name: Marker, Mode: 0o644, Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	return t.Close()
}
