package record

import (
	"sync"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
)

// Pending keeps the metrics of explore steps until their lines of metrics.jsonl are written, where what the steps hand
// on is kept for good: after a restart they are not explored again. A nil one keeps nothing. The loops may use it at
// the same time.
type Pending struct {
	Store *buffer.Store // of its own: a group without experiences for each step
	Lines Lines         // which go by the step alone

	mu      sync.Mutex
	written int // the last line that stays written
}

// pendingTask names the group of a step.
const pendingTask = "metrics"

// keep keeps the metrics of a step. One that is explored again, as it was killed before it handed on, is kept already.
func (p *Pending) keep(step int, metrics map[string]float64) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Lines.Line(step, nil) <= p.written || p.Store.Has(step, pendingTask) {
		return nil
	}
	return p.Store.Put(buffer.Record{Step: step, Task: pendingTask, Metrics: metrics})
}

// each calls f with the metrics of the steps up to explored, in order, whose lines come after written.
func (p *Pending) each(explored, written int, f func(step, line int, metrics map[string]float64)) error {
	if p == nil {
		return nil
	}
	for _, step := range p.Store.Steps() {
		line := p.Lines.Line(step, nil)
		if step > explored || line <= written {
			continue
		}
		groups, err := p.Store.Load(step)
		if err != nil {
			return err
		}
		f(step, line, groups[pendingTask].Metrics)
	}
	return nil
}

// letGo lets go of the steps whose lines are written, up to line written.
func (p *Pending) letGo(written int) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = written
	last := -1
	for _, step := range p.Store.Steps() {
		if p.Lines.Line(step, nil) <= written {
			last = step
		}
	}
	return p.Store.Drop(last)
}
