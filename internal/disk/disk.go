// Package disk has the file operations for durable state, behind the interface FS.
//
// Everything that must survive a kill is written through FS, so that a test can stop the process between any two
// operations (disktest.EveryCrash) and check the next start. Reading uses package os. Windows neither renames, replaces
// nor removes open files, so they are closed first; disktest.Held checks it.
package disk

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// FS is the operations that change a disk. Implementations are safe for concurrent use.
type FS interface {
	MkdirAll(path string) error       // of which a power loss may take the names; the function MkdirAll keeps them
	Create(path string) (File, error) // truncated if it exists
	Append(path string) (File, error) // created if it does not exist
	Rename(from, to string) error
	Link(from, to string) error  // a second name; one that exists is an error
	Remove(path string) error    // a missing file is no error
	RemoveAll(path string) error // a missing folder is no error
	Truncate(path string, size int64) error
	SyncDir(path string) error // makes names in the folder durable
	// Transaction calls run, which changes path in one step by other means, such as a database transaction, and
	// returns its error. It may fail without a call of run.
	Transaction(path string, run func() error) error
}

// File is an open file being written.
type File interface {
	io.Writer
	Sync() error
	Close() error
}

// OS returns the operating system's file system.
func OS() FS { return osFS{} }

type osFS struct{}

func (osFS) MkdirAll(path string) error { return os.MkdirAll(path, 0o755) }

func (osFS) Create(path string) (File, error) { return os.Create(path) }

func (osFS) Append(path string) (File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
}

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }

func (osFS) Link(from, to string) error { return os.Link(from, to) }

func (osFS) Remove(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

func (osFS) RemoveAll(path string) error { return os.RemoveAll(path) }

func (osFS) Truncate(path string, size int64) error { return os.Truncate(path, size) }

func (osFS) SyncDir(path string) error { return syncDir(path) }

func (osFS) Transaction(_ string, run func() error) error { return run() }

// MkdirAll makes a folder and those above it that are missing, each durable before the next one is made. So a killed
// process leaves at most one whose name is not durable, the lowest, and MkdirAll begins with that.
func MkdirAll(fs FS, path string) error {
	var missing []string
	at := filepath.Clean(path)
	for ; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !os.IsNotExist(err) {
			break
		}
		missing = append(missing, at)
	}
	// Who may not read a folder did not make the one in it.
	if err := fs.SyncDir(filepath.Dir(at)); err != nil && !os.IsPermission(err) {
		return err
	}
	for _, dir := range slices.Backward(missing) {
		if err := fs.MkdirAll(dir); err != nil {
			return err
		}
		if err := fs.SyncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return fs.MkdirAll(path) // an error if it is no folder
	}
	return nil
}

// WriteFile replaces a file in one step: readers and restarts see the complete old or the complete new contents.
func WriteFile(fs FS, path string, data []byte) error {
	return Replace(fs, path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteNew creates a complete file, or keeps the existing one: of several processes that try, one creates it. own
// makes their temporary names different.
func WriteNew(fs FS, path, own string, data []byte) error {
	tmp := path + "." + own + ".tmp"
	err := writeSynced(fs, tmp, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err == nil {
		if err = fs.Link(tmp, path); os.IsExist(err) {
			err = nil
		}
	}
	if err != nil {
		fs.Remove(tmp)
		return fmt.Errorf("disk: write %s: %w", path, err)
	}
	if err := fs.Remove(tmp); err != nil {
		return err
	}
	return fs.SyncDir(filepath.Dir(path))
}

// Replace is WriteFile for contents that write produces. After an error the old file is unchanged and nothing else is
// left, unless the last step failed, which makes the new name durable.
func Replace(fs FS, path string, write func(io.Writer) error) error {
	if err := Swap(fs, path, write); err != nil {
		return err
	}
	return fs.SyncDir(filepath.Dir(path))
}

// Swap is Replace without its last step: after an error the old file is unchanged, and without one the new file is
// there, which a power loss may undo until its folder is synced.
func Swap(fs FS, path string, write func(io.Writer) error) error {
	tmp := path + ".tmp"
	err := writeSynced(fs, tmp, write)
	if err == nil {
		err = fs.Rename(tmp, path)
	}
	if err != nil {
		fs.Remove(tmp)
		return fmt.Errorf("disk: write %s: %w", path, err)
	}
	return nil
}

func writeSynced(fs FS, path string, write func(io.Writer) error) error {
	f, err := fs.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
