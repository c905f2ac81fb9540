package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// patience is how long a pipe may stay silent. It decides only whether a file is read, not its contents.
const patience = 10 * time.Second

// Size limits of files that are named by a user or an untrusted client.
const (
	SmallFile = 16 << 20  // configurations, notes, templates
	BigFile   = 512 << 20 // vocabularies and indexes of weights
)

// ReadFile reads a file that is named by a user or an untrusted client. It reads at most limit bytes, so that neither
// /dev/zero nor a huge file fills the memory. It reads a pipe to its end, as from <(command); a pipe without a writer
// is refused after ten seconds.
func ReadFile(path string, limit int64) ([]byte, error) {
	return readFile(path, limit, patience)
}

func readFile(path string, limit int64, patience time.Duration) ([]byte, error) {
	f, info, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Mode().IsRegular() && info.Size() > limit {
		return nil, tooLong(path, limit)
	}
	var r io.Reader = io.LimitReader(f, limit+1)
	if info.Mode()&os.ModeNamedPipe != 0 {
		r = io.LimitReader(&pipe{f: f, path: path, patience: patience}, limit+1)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, tooLong(path, limit)
	}
	return data, nil
}

func tooLong(path string, limit int64) error {
	return fmt.Errorf("%s has more than %d bytes, the limit for such a file; give another", path, limit)
}

// OpenRegular opens a file for random access. It refuses pipes, devices and folders by name, without waiting for them.
func OpenRegular(path string) (*os.File, error) {
	f, info, err := open(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is not a regular file (%s), and it needs random access; write its contents to a "+
			"file and give that", path, info.Mode().Type())
	}
	return f, nil
}

// open opens a file without waiting for a writer at the other end of a pipe.
func open(path string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = &os.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// pipe reads a named pipe. Before the first byte, an end of file means that there is no writer yet.
type pipe struct {
	f        *os.File
	path     string
	patience time.Duration
	begun    bool
}

func (p *pipe) Read(b []byte) (int, error) {
	for end := time.Now().Add(p.patience); ; time.Sleep(10 * time.Millisecond) {
		// A pipe that does not support deadlines is read without them.
		_ = p.f.SetReadDeadline(end)
		n, err := p.f.Read(b)
		if n > 0 || err == nil || err == io.EOF && p.begun {
			p.begun = p.begun || n > 0
			return n, err
		}
		if err != io.EOF && !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if !time.Now().Before(end) {
			return 0, fmt.Errorf("%s is a pipe, and nothing was written to it for %v; start its writer first, "+
				"or give a file", p.path, p.patience)
		}
	}
}
