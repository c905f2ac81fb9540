package buffer

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Exchange carries experiences from the explorer to the trainer: Handover inside one process, Table between processes,
// and File, which keeps what nobody trains on. One goroutine puts and one takes.
type Exchange interface {
	// Put hands over the experiences of an explore step; a step that was put before is not put again.
	Put(ctx context.Context, step int, list []*experience.Experience) error
	// Take returns the next n experiences, or dataset.ErrEnd when there will not be so many; it may leave out those
	// that were sampled by weights older than minVersion.
	Take(ctx context.Context, n, minVersion int) ([]*experience.Experience, error)
	// Position is how far it has been read.
	Position() Position
	// Finish says that nothing more will be put.
	Finish(ctx context.Context) error

	// Explored is the last explore step that is kept here for good, so that it need not be explored again. kept is
	// false for an exchange that ends with the process.
	Explored() (step int, kept bool)
	// Short reports whether there are fewer than n experiences to take now.
	Short(ctx context.Context, n, minVersion int) (bool, error)
}

// Position is how far a trainer's source has been read: Count experiences of explore step Step, or Count rows of a
// data set, or Count reads of a Table; and beside these, Expert rows of an expert's data set.
type Position struct {
	Step   int `json:"step"`
	Count  int `json:"count"`
	Expert int `json:"expert,omitempty"`
}

// Waiter is told whether the trainer waits for experiences. A Synchronizer is one.
type Waiter interface {
	SetIdle(idle bool)
}
