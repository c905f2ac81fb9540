package explorer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
)

// State is <name>_meta.json as upstream writes it: how many explore steps are trained, and the rows they took. This
// program continues from the trainer's state; the file is there for upstream, for readers, and for what selectors of
// tasks have learned.
type State struct {
	Step     int             `json:"latest_iteration"`
	Tasksets json.RawMessage `json:"taskset_states"`
}

// ReadState reads the state at path; there is false for a new job.
func ReadState(path string) (s State, there bool, err error) {
	err = disk.ReadJSON(path, &s)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, true, fmt.Errorf("explorer: %s: %w", path, err)
	}
	return s, true, nil
}

// Kept is the data that an explorer keeps on disk until it is trained: its groups, and which tasks it has dealt out.
type Kept struct {
	FS    disk.FS
	Path  string // of the State
	Store *buffer.Store
	Tasks Dealt
	Batch int // tasks of a step
}

// Dealt is tasks whose place can be written down.
type Dealt interface {
	// Before is the state of the sets before a step, of batch tasks each. It is not asked for earlier steps any more.
	Before(step, batch int) (json.RawMessage, error)
}

// Done notes that the steps up to step are done, and deletes the groups up to step drop.
func (k *Kept) Done(step, drop int) error {
	states, err := k.Tasks.Before(step+1, k.Batch)
	if err != nil {
		return err
	}
	if err := disk.WriteJSON(k.FS, k.Path, State{step, states}); err != nil {
		return err
	}
	return k.Store.Drop(drop)
}
