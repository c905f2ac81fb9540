package buffer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// File keeps experiences as JSON lines for other programs: they have no tokens, so nothing trains on
// them. As an Exchange it only takes in.
type File struct {
	lines *JSONL
	fs    disk.FS
	path  string // of state
	state fileState
}

// fileState notes where the last whole step ended: the lines of a step cut short by a kill are cut off.
type fileState struct {
	Step  int   `json:"latest_iteration"`
	Bytes int64 `json:"bytes"`
}

// OpenFile opens or makes the file at path. What was put is noted in the file at state; where that is not there yet,
// File appends to what path has: it is somebody else's.
func OpenFile(dfs disk.FS, path, state string) (*File, error) {
	f := &File{fs: dfs, path: state}
	if err := errors.Join(makeParent(dfs, path), makeParent(dfs, state)); err != nil {
		return nil, err
	}
	err := disk.ReadJSON(state, &f.state)
	if errors.Is(err, fs.ErrNotExist) {
		err = f.begin(path)
	}
	if err != nil {
		return nil, fmt.Errorf("buffer: %s: %w", state, err)
	}
	if f.lines, err = OpenJSONL(dfs, path, f.state.Bytes); err != nil {
		return nil, err
	}
	return f, nil
}

// makeParent makes a file's folder.
func makeParent(dfs disk.FS, path string) error {
	if err := disk.MkdirAll(dfs, filepath.Dir(path)); err != nil {
		return fmt.Errorf("buffer: %w", err)
	}
	return nil
}

func (f *File) begin(path string) error {
	if st, err := os.Stat(path); err == nil {
		f.state.Bytes = st.Size()
	}
	return f.commit()
}

func (f *File) commit() error { return disk.WriteJSON(f.fs, f.path, f.state) }

// Put implements Exchange.
func (f *File) Put(_ context.Context, step int, list []*experience.Experience) error {
	if step <= f.state.Step {
		return nil
	}
	if err := f.lines.WriteExperiences(list); err != nil {
		return err
	}
	if err := f.lines.Sync(); err != nil {
		return err
	}
	f.state = fileState{step, f.lines.Size()}
	return f.commit()
}

// errNoTokens refuses what a File cannot do.
var errNoTokens = errors.New("buffer: experiences kept as JSON lines have no tokens to train on; set storage_type: sql")

// Take implements Exchange: it is an error.
func (f *File) Take(context.Context, int, int) ([]*experience.Experience, error) {
	return nil, errNoTokens
}

// Position implements Exchange: nothing is ever read.
func (f *File) Position() Position { return Position{} }

// Finish implements Exchange.
func (f *File) Finish(context.Context) error { return nil }

// Explored implements Exchange.
func (f *File) Explored() (step int, kept bool) { return f.state.Step, true }

// Short implements Exchange: it is an error.
func (f *File) Short(context.Context, int, int) (bool, error) { return false, errNoTokens }

// Close closes the file.
func (f *File) Close() error { return f.lines.Close() }
