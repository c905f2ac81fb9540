package record

import (
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
)

// Asking is who asks for published weights: the explorer of this process, programs that sample for themselves, or
// else explorers in other processes.
type Asking struct {
	Explores bool // an explorer is in this process
	Serves   bool // this process serves programs
	Adaptive bool // the choice of tasks depends on how earlier ones went
	Sync     *synchronizer.Synchronizer
	Folder   synchronizer.Folder
	To       buffer.Exchange // nil: experiences are handed to nobody
}

// ExploreStep is the first explore step that is to be done, as far as the trainer's state knows it.
func (a Asking) ExploreStep(state trainer.State) int {
	if a.To != nil {
		if step, kept := a.To.Explored(); kept {
			return step + 1
		}
	}
	return max(1, state.Position.Step)
}

// Oldest is the oldest version that somebody may still ask for.
func (a Asking) Oldest(state trainer.State) (int, error) {
	switch {
	case a.Explores:
		step := a.ExploreStep(state)
		if a.Adaptive { // after a kill the selectors learn again from there
			step = min(step, max(1, state.Back().Position.Step))
		}
		return a.Sync.Needed(step), nil
	case a.Serves:
		return a.Sync.Newest(), nil // open samplers keep their weights
	}
	return a.Folder.Oldest()
}
