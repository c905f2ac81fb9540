package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
)

// Mix deals out the rows of several data sets as one: in each epoch every set comes up as often as it has rows, in an
// order drawn again, and its selector says which row that is. The order is Trinity-RFT's TasksetScheduler's. It is not
// safe for concurrent use.
type Mix struct {
	sizes     []int
	selectors []Selector
	batch     int
	steps     int
	total     int // rows of all sets

	epoch int // order is of, -1 before the first
	order []int
}

// NewMix plans the reading of sets with sizes rows by their plans; all share the batch size, epochs and steps of
// the first plan.
func NewMix(sizes []int, plans []Plan) (*Mix, error) {
	m := &Mix{sizes: sizes, batch: plans[0].BatchSize, epoch: -1}
	for i, plan := range plans {
		if sizes[i] <= 0 {
			return nil, fmt.Errorf("dataset: taskset %d has no rows; give it at least one", i)
		}
		plan.BatchSize = min(plan.BatchSize, sizes[i]) // no batch has more of it, or it wraps around
		s, err := newSelector(plan.Selector, sizes[i], plan)
		if err != nil {
			return nil, err
		}
		m.selectors = append(m.selectors, s)
		m.total += sizes[i]
	}
	if m.batch <= 0 || m.batch > m.total {
		return nil, fmt.Errorf("dataset: a batch of %d tasks of %d rows in all; lower batch_size", m.batch, m.total)
	}
	if m.steps = plans[0].TotalSteps; m.steps == 0 {
		m.steps = max(1, plans[0].Epochs) * m.total / m.batch
	}
	return m, nil
}

// Steps is how many batches the whole reading has.
func (m *Mix) Steps() int { return m.steps }

// Pick names a row of one of the sets.
type Pick struct {
	Taskset int
	Item
}

// Batch returns the rows of a step (1, 2, …), grouped by set, or ErrEnd after the last step.
func (m *Mix) Batch(step int) ([]Pick, error) {
	if step > m.steps {
		return nil, ErrEnd
	}
	var ids []int // of the sets, in order of first appearance
	counts := map[int]int{}
	start := (step - 1) * m.batch
	for at := start; at < start+m.batch; at++ {
		id := m.at(at)
		if counts[id] == 0 {
			ids = append(ids, id)
		}
		counts[id]++
	}
	begins := m.before(start)
	var picks []Pick
	for _, id := range ids {
		from := begins[id]
		for len(picks) < m.batch && counts[id] > 0 {
			n := min(counts[id], m.sizes[id])
			for i, index := range m.selectors[id].Pick(from, n) {
				picks = append(picks, Pick{id, Item{Index: index, Epoch: (from + i) / m.sizes[id]}})
			}
			from, counts[id] = from+n, counts[id]-n
		}
	}
	return picks, nil
}

// at is the set whose turn it is at a place of the endless reading.
func (m *Mix) at(place int) int {
	m.turn(place / m.total)
	return m.order[place%m.total]
}

// before counts how often each set came up before a place.
func (m *Mix) before(place int) []int {
	n := make([]int, len(m.sizes))
	for i, size := range m.sizes {
		n[i] = place / m.total * size
	}
	m.turn(place / m.total)
	for _, id := range m.order[:place%m.total] {
		n[id]++
	}
	return n
}

// turn makes the order of an epoch.
func (m *Mix) turn(epoch int) {
	if m.epoch == epoch {
		return
	}
	base := make([]int, 0, m.total)
	for id, size := range m.sizes {
		for range size {
			base = append(base, id)
		}
	}
	m.epoch, m.order = epoch, make([]int, m.total)
	for i, from := range python.DefaultRNG(uint64(epoch)).Permutation(m.total) {
		m.order[i] = base[from]
	}
}

// Adaptive reports whether what is picked depends on what was learned.
func (m *Mix) Adaptive() bool {
	return slices.ContainsFunc(m.selectors, func(s Selector) bool { _, ok := s.(*difficulty); return ok })
}

// Learn tells the adaptive selectors what was measured.
func (m *Mix) Learn(rates []Rate) {
	for id, s := range m.selectors {
		if d, ok := s.(*difficulty); ok {
			var own []Rate
			for _, r := range rates {
				if r.Taskset == id {
					own = append(own, r)
				}
			}
			d.learn(own)
		}
	}
}

// SetState is the position in one set before a step, and what its selector has learned.
type SetState struct {
	CurrentIndex int     `json:"current_index"`
	Belief       *Belief `json:"belief,omitempty"`
}

// States are the states of the sets before a step.
func (m *Mix) States(step int) []SetState {
	states := make([]SetState, len(m.sizes))
	for id, n := range m.before((step - 1) * m.batch) {
		states[id].CurrentIndex = n
		if d, ok := m.selectors[id].(*difficulty); ok {
			b := d.belief
			b.Alpha, b.Beta = append([]float64(nil), b.Alpha...), append([]float64(nil), b.Beta...)
			states[id].Belief = &b
		}
	}
	return states
}

// Restore takes what the selectors had learned from stored states.
func (m *Mix) Restore(data []byte) error {
	var states []SetState
	if err := json.Unmarshal(data, &states); err != nil {
		return fmt.Errorf("dataset: stored states of the tasksets: %w", err)
	}
	if len(states) != len(m.sizes) {
		return fmt.Errorf(
			"dataset: %d stored states for %d tasksets; put the tasksets back that the job was begun with", len(states),
			len(m.sizes))
	}
	for id, s := range states {
		d, ok := m.selectors[id].(*difficulty)
		switch {
		case !ok || s.Belief == nil:
		case len(s.Belief.Alpha) != m.sizes[id] || len(s.Belief.Beta) != m.sizes[id]:
			return errors.New("dataset: what was learned is of another number of rows; put the data back that the " +
				"job was begun with")
		default:
			d.belief = *s.Belief
		}
	}
	return nil
}
