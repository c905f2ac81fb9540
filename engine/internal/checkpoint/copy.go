package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Copy saves a copy of a checkpoint, without its time to live.
func (s *Store) Copy(from string, to tinker.Path) (err error) {
	m, files, err := s.open(from)
	defer func() { err = errors.Join(err, closeFiles(files)) }()
	if err != nil {
		return err
	}
	list := make([]File, len(files))
	for i, f := range files {
		list[i] = File{f.name, func(w io.Writer) error {
			_, err := io.Copy(w, f)
			return err
		}}
	}
	m.ModelID, m.Expires, m.Files = to.ModelID, nil, nil
	return s.Write(to, m, list)
}

// opened is a file of a checkpoint that is read.
type opened struct {
	*os.File
	name string
}

func closeFiles(files []opened) (err error) {
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// open opens the files of a checkpoint, which are then read whatever becomes of it, and compares their checksums.
func (s *Store) open(path string) (m Manifest, files []opened, err error) {
	v := s.View()
	defer v.Close()
	m, _, dir, err := v.Read(path)
	if err != nil {
		return m, nil, err
	}
	names, err := disk.Files(dir)
	if err != nil {
		return m, nil, unlisted(path, err)
	}
	for _, name := range names {
		if name == manifestFile {
			continue
		}
		if err := m.Check(dir, name); err != nil {
			return m, files, tinker.Serverf("checkpoint %s: %w", path, err)
		}
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return m, files, fmt.Errorf("engine: %w", err)
		}
		files = append(files, opened{f, name})
	}
	return m, files, nil
}
