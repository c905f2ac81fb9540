package disktest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
)

// lose makes the folders what a power loss leaves of them.
func (d *image) lose(namesStay bool) {
	d.dirs = map[string]string{}
	d.root.below("", d.root.now, func(p place, volume *node) {
		path := p.name + string(filepath.Separator)
		if namesStay {
			volume.shorten(path)
			return
		}
		volume.take(path)
		volume.restore(path)
	})
}

// below calls each with the places in a folder that names lists.
func (n *node) below(path string, names map[string]*node, each func(place, *node)) {
	for name, child := range maps.Clone(names) {
		each(place{n, name, filepath.Join(path, name)}, child)
	}
}

// shorten cuts the files of a folder to their synced bytes. Their names are durable.
func (n *node) shorten(path string) {
	n.below(path, n.now, func(p place, child *node) {
		switch {
		case child.mode.IsDir():
			child.shorten(p.path)
		case child.mode.IsRegular() && child.loaded:
			if child.synced < len(child.data) {
				os.Truncate(p.path, int64(child.synced))
			}
			child.data = child.data[:child.synced:child.synced]
			child.sync()
		}
	})
	n.sync()
}

// take removes from the folders what has another name on the disk, or none. Its contents stay in memory.
func (n *node) take(path string) {
	n.below(path, n.now, func(p place, child *node) {
		if child.mode.IsDir() {
			child.take(p.path)
		}
		if n.kept[p.name] != child {
			p.load()
			os.RemoveAll(p.path)
			p.set(nil)
		}
	})
}

// restore writes to the folders what is missing there and was durable.
func (n *node) restore(path string) {
	n.below(path, n.kept, func(p place, child *node) {
		switch {
		case n.now[p.name] == nil:
			n.kept[p.name] = child.place(p.path)
			p.set(n.kept[p.name])
		case child.mode.IsDir():
			child.restore(p.path)
		case child.mode.IsRegular() && child.loaded:
			if string(child.data) != string(child.durable) {
				os.WriteFile(p.path, child.durable, child.mode.Perm())
			}
			child.data, child.synced = child.durable, len(child.durable)
		}
	})
}

// place writes the durable contents of a file or folder to a path and returns what is there then.
func (n *node) place(path string) *node {
	switch {
	case n.mode.IsDir():
		placed := newFolder()
		os.Mkdir(path, 0o755)
		n.below(path, n.kept, func(p place, child *node) {
			placed.now[p.name] = child.place(p.path)
		})
		placed.sync()
		return placed
	case n.mode.Type() == fs.ModeSymlink:
		os.Symlink(string(n.durable), path)
	default:
		os.WriteFile(path, n.durable, n.mode.Perm())
	}
	return &node{mode: n.mode, loaded: true, data: n.durable, durable: n.durable, synced: len(n.durable)}
}
