package dataset

import (
	"cmp"
	"errors"
	"fmt"
)

// Plan says how much of a dataset is read and in what order.
type Plan struct {
	BatchSize  int
	Epochs     int // passes over the rows; used when TotalSteps is 0; 0 means one
	TotalSteps int // batches to read, wrapping around; 0 means by Epochs
	MaxSteps   int // batches after which the reading ends in any case; 0: no limit
	// one pass in file order, the last batch perhaps partial; Epochs and the steps do not count
	Eval     bool
	Selector string         // one of Selectors, or "" for sequential
	Seed     int64          // of what the selector draws
	Features [][]float64    // of each row, for selectors that go by them
	Args     map[string]any // of the selector

	Own map[string]OpenSelector // selectors that a program brings, by name

	// Remedy completes the error for rows that fill no batch; "": it names the keys of a taskset.
	Remedy string
}

// OpenSelector makes a selector of size rows.
type OpenSelector func(size int, plan Plan) (Selector, error)

// State is the position of a Reader, as it is stored for resuming.
type State struct {
	CurrentIndex int `json:"current_index"` // rows read so far
}

// Item names one row to read: its index and the epoch it is read in, from 0.
type Item struct {
	Index, Epoch int
}

// Reader deals out the rows of a dataset in batches. It is not safe for concurrent use.
type Reader struct {
	plan     Plan
	size     int
	total    int
	current  int
	selector Selector
}

// NewReader plans the reading of size rows. A plan that would never give a training batch is an error.
func NewReader(size int, plan Plan) (*Reader, error) {
	if size <= 0 {
		return nil, fmt.Errorf("dataset: no rows to read; give the dataset at least one")
	}
	if plan.BatchSize <= 0 {
		return nil, fmt.Errorf("dataset: batch size %d; it must be at least 1", plan.BatchSize)
	}
	name := plan.Selector
	if plan.Eval {
		name = "sequential"
	}
	sel, err := newSelector(name, size, plan)
	if err != nil {
		return nil, err
	}
	r := &Reader{plan: plan, size: size, selector: sel}
	switch {
	case plan.Eval:
		r.total = size
	case plan.TotalSteps > 0:
		r.total = plan.TotalSteps * plan.BatchSize
	default:
		r.total = size * max(1, plan.Epochs)
	}
	if !plan.Eval && plan.MaxSteps > 0 {
		r.total = min(r.total, plan.MaxSteps*plan.BatchSize)
	}
	if !plan.Eval && r.total < plan.BatchSize {
		return nil, fmt.Errorf("dataset: %d rows for %d epochs do not fill one batch of %d; %s", size,
			max(1, plan.Epochs), plan.BatchSize, cmp.Or(plan.Remedy,
				"lower buffer.batch_size, raise buffer.total_epochs or give buffer.total_steps"))
	}
	return r, nil
}

// Steps is how many batches the whole reading has.
func (r *Reader) Steps() int {
	if r.plan.Eval {
		return (r.total + r.plan.BatchSize - 1) / r.plan.BatchSize
	}
	return r.total / r.plan.BatchSize
}

// ErrEnd means that there is no more to read: the tasks or the rows are done. It means nothing else, least of all
// that a connection ended.
var ErrEnd = errors.New("dataset: no more")

// Next returns the next batch, or ErrEnd after the last. Training drops a last partial batch.
func (r *Reader) Next() ([]Item, error) {
	n := min(r.plan.BatchSize, r.total-r.current)
	if n <= 0 || n < r.plan.BatchSize && !r.plan.Eval {
		return nil, ErrEnd
	}
	items := make([]Item, n)
	for i, index := range r.selector.Pick(r.current, n) {
		items[i] = Item{Index: index, Epoch: (r.current + i) / r.size}
	}
	r.current += n
	return items, nil
}

// State returns the reader's position.
func (r *Reader) State() State { return State{r.current} }

// Restore makes the reader continue from a stored state.
func (r *Reader) Restore(s State) error {
	if s.CurrentIndex < 0 {
		return fmt.Errorf("dataset: stored current_index %d; it cannot be negative", s.CurrentIndex)
	}
	r.current = s.CurrentIndex
	return nil
}
