package synchronizer

import "context"

// AtTheEnd publishes the weights of the last step alone: something that follows the run may sample with them.
type AtTheEnd struct {
	Steps int // train steps in all
}

// Publishes implements trainer.Publisher.
func (p AtTheEnd) Publishes(_ context.Context, step int) (bool, error) { return step == p.Steps, nil }

// OnSchedule publishes every sync_interval steps, and the weights of the last step.
type OnSchedule struct {
	Schedule
	Steps int // train steps in all
}

// Publishes implements trainer.Publisher.
func (p OnSchedule) Publishes(_ context.Context, step int) (bool, error) {
	return p.Schedule.Publishes(step) || step == p.Steps, nil
}

// OnRequest publishes when an explorer asks for weights, and the weights of the last step.
type OnRequest struct {
	Sync    *Synchronizer // of the explorer of this process
	Folder  Folder        // for explorers of other processes
	Order   *Order        // where each choice is noted
	Samples Samples
	Batch   int // experiences of a step
	Steps   int // train steps in all
}

// Samples is the trainer's source.
type Samples interface {
	// Wants reports whether a train step that reads n experiences would find too few now.
	Wants(ctx context.Context, step, n int) (bool, error)
}

// Publishes implements trainer.Publisher. A step that is run again sends the same requests as before.
func (p OnRequest) Publishes(ctx context.Context, step int) (bool, error) {
	if step == p.Steps {
		return true, nil
	}
	if decided, ok := p.Order.Decided(step); ok {
		return decided, nil
	}
	wanted, err := p.wanted(ctx, step)
	if err != nil {
		return false, err
	}
	return wanted, p.Order.Decide(step, wanted)
}

// wanted reports whether an explorer waits for weights, or would wait in vain as the trainer is about to wait for it.
func (p OnRequest) wanted(ctx context.Context, step int) (bool, error) {
	if p.Sync.Asks() {
		return true, nil
	}
	others, err := p.Folder.Explorers()
	if err != nil {
		return false, err
	}
	for _, e := range others {
		if e.Asks {
			return true, nil
		}
	}
	return p.Samples.Wants(ctx, step+1, p.Batch)
}
