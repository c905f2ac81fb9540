package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Grown is a file that grows by complete writes and whose name is durable. The rest of a failed write is cut off before
// the next one. It is for one goroutine at a time.
type Grown struct {
	fs   FS
	path string
	file File
	size int64 // bytes of complete writes
	torn bool  // a failed write may have left more
}

// OpenGrown opens the file at path, creates it if it is missing, cuts it to size bytes and makes those and its name
// durable: a process that was killed may have written what the caller has read and builds on. Its folder must exist.
func OpenGrown(to FS, path string, size int64) (*Grown, error) {
	st, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	longer := err == nil && st.Size() > size
	f, err := to.Append(path)
	if err != nil {
		return nil, err
	}
	g := &Grown{fs: to, path: path, file: f, size: size, torn: longer}
	if err = g.cut(); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = to.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return g, nil
}

// cut removes the rest of a failed write.
func (g *Grown) cut() error {
	if !g.torn {
		return nil
	}
	if err := g.fs.Truncate(g.path, g.size); err != nil {
		return err
	}
	g.torn = false
	return nil
}

// Write appends all of b; the next Write or OpenGrown removes the rest of a failed one.
func (g *Grown) Write(b []byte) (int, error) {
	if err := g.cut(); err != nil {
		return 0, err
	}
	n, err := g.file.Write(b)
	if err != nil {
		g.torn = true
		return n, err
	}
	g.size += int64(n)
	return n, nil
}

// Size is the number of bytes of complete writes.
func (g *Grown) Size() int64 { return g.size }

// Path is the path passed to OpenGrown.
func (g *Grown) Path() string { return g.path }

// Sync waits until the disk has every write.
func (g *Grown) Sync() error { return g.file.Sync() }

// Close closes the file.
func (g *Grown) Close() error { return g.file.Close() }
