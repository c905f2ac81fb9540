package buffer

import (
	"os"
	"path/filepath"
)

// Hook is called before every system call that changes the disk, with what is about to happen ("mkdir", "create",
// "write", "sync", "sync-dir", "truncate", "remove") and to which path. An error stops the call and is returned to the
// caller. With it a test can end a run between any two of them; it is nil otherwise.
type Hook func(op, path string) error

// disk makes the changes, each after asking the hook.
type disk struct{ hook Hook }

func (d disk) ask(op, path string) error {
	if d.hook == nil {
		return nil
	}
	return d.hook(op, path)
}

func (d disk) mkdir(dir string) error {
	if err := d.ask("mkdir", dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

// create makes a new empty file whose name survives a crash.
func (d disk) create(path string) (*os.File, error) {
	if err := d.ask("create", path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := d.syncDir(filepath.Dir(path)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// append writes data at offset at and waits until the disk has it.
func (d disk) append(f *os.File, data []byte, at int64) error {
	if err := d.ask("write", f.Name()); err != nil {
		return err
	}
	if _, err := f.WriteAt(data, at); err != nil {
		return err
	}
	return d.sync(f)
}

func (d disk) truncate(f *os.File, size int64) error {
	if err := d.ask("truncate", f.Name()); err != nil {
		return err
	}
	if err := f.Truncate(size); err != nil {
		return err
	}
	return d.sync(f)
}

func (d disk) remove(path string) error {
	if err := d.ask("remove", path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return d.syncDir(filepath.Dir(path))
}

func (d disk) sync(f *os.File) error {
	if err := d.ask("sync", f.Name()); err != nil {
		return err
	}
	return f.Sync()
}

func (d disk) syncDir(dir string) error {
	if err := d.ask("sync-dir", dir); err != nil {
		return err
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
