package weights

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// runOverhead is the memory of a training run besides its tensors: maps, queues, names.
const runOverhead = 128 << 10

// RunBytes estimates the memory of a run in bytes: its parameters, a gradient, the copy of it that a failed request
// restores, a part of it, and two moments, all f32; and two packed versions of its weights, since a step makes the new
// one while the old one is in use.
func (b *Base) RunBytes(l tinker.LoRA) int64 {
	c := b.Config
	if l.Rank == 0 {
		n := 7 * 4 * c.Parameters()
		if c.Tied {
			n += 6 * 4 * int64(c.Vocab) * int64(c.Dim) // two more accumulators, their copies and a part's
		}
		return runOverhead + n + 2*c.WeightBytes()
	}
	m := modelLoRA(l)
	return runOverhead + 6*4*m.Parameters(c) + 2*m.PackedBytes(c)
}

func describeRun(l tinker.LoRA, b *Base) string {
	return fmt.Sprintf("a training run of rank %d on base model %q", l.Rank, b.Name)
}

// looseRank is accepted for any base model, so that the settings of a large model also work on a small stand-in.
const looseRank = 256

// CheckRank refuses a rank above the shorter side of the trained matrices: the product of A and B cannot have a higher
// rank than that.
func (b *Base) CheckRank(l tinker.LoRA) error {
	if l.Rank == 0 {
		return nil
	}
	if most := max(modelLoRA(l).MaxRank(b.Config), looseRank); l.Rank > most {
		return tinker.Userf("engine: LoRA rank %d is more than base model %q can use: take a rank of 1 to %d", l.Rank,
			b.Name, most)
	}
	return nil
}

// RoomForRun returns an error if there is no memory for a training run and the weights that it needs.
func (m *Memory) RoomForRun(owner string, l tinker.LoRA, b *Base) error {
	if err := m.room(owner, describeRun(l, b), b.RunBytes(l)); err != nil || l.Rank == 0 {
		return err
	}
	n, err := b.weightBytes()
	if err != nil {
		return nil // making the run says why
	}
	return m.roomForBase(b, n)
}

// Hold accounts for the memory of a run that is being made, under its id. A promised run is always accepted.
func (m *Memory) Hold(s Shape, owner, id string, promised bool) error {
	n := s.Base.RunBytes(s.LoRA)
	if promised {
		m.take(owner, id, n)
		return nil
	}
	return m.reserve(owner, id, describeRun(s.LoRA, s.Base), n)
}
