package disktest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// image is the state that a disk keeps when its power fails, beside its current state in real folders. It knows the
// files and folders that a Crash changed. Everything else, such as what package os wrote, is durable as it is.
type image struct {
	mu   sync.Mutex
	root *node             // its names are volumes; Unix has one, without a name
	dirs map[string]string // folders by the paths that callers use, without symbolic links
}

// node is a file or a folder, whatever its name.
type node struct {
	mode fs.FileMode // type and permissions

	// Of a folder: the names of what changed in it, now and on the disk.
	now, kept map[string]*node

	// Of a regular file.
	loaded  bool   // the fields below are valid
	data    []byte // contents now
	durable []byte // contents after a power loss that undoes truncations too
	synced  int    // bytes of data that were synced
}

func newFolder() *node {
	return &node{mode: fs.ModeDir | 0o755, now: map[string]*node{}, kept: map[string]*node{}}
}

func newFile() *node { return &node{mode: 0o644, loaded: true} }

func newImage() *image { return &image{root: newFolder(), dirs: map[string]string{}} }

// place is a name in a folder.
type place struct {
	in   *node
	name string
	path string
}

// find returns the place of a path, whose folder exists.
func (d *image) find(path string) (place, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return place{}, err
	}
	dir, known := d.dirs[filepath.Dir(abs)]
	if !known {
		if dir, err = filepath.EvalSymlinks(filepath.Dir(abs)); err != nil {
			return place{}, err
		}
		d.dirs[filepath.Dir(abs)] = dir
	}
	volume := filepath.VolumeName(dir)
	root := volume + string(filepath.Separator)
	in, path := d.root.now[volume], root
	if in == nil {
		in = newFolder()
		d.root.now[volume] = in
	}
	for _, name := range strings.Split(strings.TrimPrefix(dir, root), string(filepath.Separator)) {
		if name == "" {
			continue
		}
		path = filepath.Join(path, name)
		next := in.now[name]
		if next == nil || !next.mode.IsDir() {
			next = place{in, name, path}.look()
		}
		if next == nil || !next.mode.IsDir() {
			return place{}, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		in = next
	}
	name := filepath.Base(abs)
	return place{in, name, filepath.Join(dir, name)}, nil
}

// look returns what is at a place, nil if nothing is. What others than a Crash made or removed there is durable.
func (p place) look() *node {
	n := p.in.now[p.name]
	st, err := os.Lstat(p.path)
	switch {
	case err != nil && n != nil:
		delete(p.in.now, p.name)
		if p.in.kept[p.name] == n {
			delete(p.in.kept, p.name)
		}
		return nil
	case err != nil:
		return nil
	case n != nil && n.mode.Type() == st.Mode().Type():
		if n.loaded && st.Size() != int64(len(n.data)) {
			n.loaded = false // somebody else wrote it
		}
		return n
	}
	n = &node{mode: st.Mode()}
	if st.IsDir() {
		n = newFolder()
	}
	p.in.now[p.name], p.in.kept[p.name] = n, n
	return n
}

// load reads into memory what is at a place before it is changed, and all below it.
func (p place) load() *node {
	n := p.look()
	switch {
	case n == nil:
	case n.mode.IsDir():
		entries, _ := os.ReadDir(p.path)
		for _, e := range entries {
			place{n, e.Name(), filepath.Join(p.path, e.Name())}.load()
		}
	case n.mode.IsRegular() && !n.loaded:
		data, err := os.ReadFile(p.path)
		n.data, n.durable, n.synced, n.loaded = data, data, len(data), err == nil
	case n.mode.Type() == fs.ModeSymlink && !n.loaded:
		to, err := os.Readlink(p.path)
		n.durable, n.loaded = []byte(to), err == nil
	}
	return n
}

// set notes that n is at a place, which may be on the way to the disk.
func (p place) set(n *node) {
	if n == nil {
		delete(p.in.now, p.name)
		return
	}
	p.in.now[p.name] = n
}

// truncate cuts or extends a file, which a power loss may undo.
func (n *node) truncate(size int64) {
	if more := int(size) - len(n.data); more > 0 {
		n.data = append(n.data, make([]byte, more)...)
	}
	n.data = n.data[:size:size]
	n.synced = min(n.synced, int(size))
}

// write appends to a file.
func (n *node) write(b []byte) { n.data = append(n.data, b...) }

// sync makes a file's contents durable, or the names in a folder.
func (n *node) sync() {
	if n.mode.IsDir() {
		n.kept = maps.Clone(n.now)
		return
	}
	n.durable, n.synced = n.data[:len(n.data):len(n.data)], len(n.data)
}
