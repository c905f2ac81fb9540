package record

import (
	"cmp"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Lines says in which line of metrics.jsonl the metrics of an explore step are. It is asked once for each explore
// step, in order, with the experiences that the step hands on. 0: it has one already.
type Lines interface {
	Line(step int, list []*experience.Experience) int
}

// OwnLines has a line for each explore step.
type OwnLines struct{}

// Line implements Lines.
func (OwnLines) Line(step int, _ []*experience.Experience) int { return step }

// PlannedLines has the line that an explore step was planned for, whatever the steps hand on: a table is not read in
// the order in which it was filled.
type PlannedLines struct {
	Explored int // experiences that an explore step is planned to hand on
	Trained  int // experiences of a train step
}

// Line implements Lines.
func (l PlannedLines) Line(step int, _ []*experience.Experience) int {
	return (step-1)*l.Explored/l.Trained + 1
}

// TrainLines has the metrics of an explore step in the line of the first train step that trains on it. One that is
// passed over as a whole has the line of the train step that passes over it, and one that hands on nothing that of what
// follows it. The line depends on what was handed on, and not on which of the two loops is faster, so it is the same in
// every run. If several steps share a line, it has the metrics of the last.
type TrainLines struct {
	trained int                // experiences of a train step
	oldest  func(step int) int // the oldest weights that what a train step trains on may be of
	next    int                // the explore steps before this one have their lines
	begun   int                // and so has this one, if so many of its experiences are read
	step    int                // the train step that reads what comes next
	filled  int                // it has so many experiences already
}

// NewTrainLines returns the lines of what a trainer that continues after a state will read. It trains on the given
// number of experiences in each step and passes over those of weights before oldest.
func NewTrainLines(after trainer.State, trained int, oldest func(step int) int) *TrainLines {
	return &TrainLines{trained: trained, oldest: oldest, step: after.Step + 1,
		next: max(1, after.Position.Step), begun: after.Position.Count}
}

// Line implements Lines.
func (l *TrainLines) Line(step int, list []*experience.Experience) int {
	if step < l.next {
		return 0 // it is explored again for what is learned from it
	}
	if step == l.next && l.begun > 0 {
		l.read(list[min(len(list), l.begun):])
		return 0 // a train step is over with an experience that it trains on
	}
	passing := l.step
	return cmp.Or(l.read(list), passing)
}

// read reads as the trainer does, and returns the first train step that trains on one of the experiences, 0 if none
// does.
func (l *TrainLines) read(list []*experience.Experience) (first int) {
	for _, e := range list {
		if e.Info.ModelVersion < l.oldest(l.step) {
			continue
		}
		first = cmp.Or(first, l.step)
		if l.filled++; l.filled == l.trained {
			l.step, l.filled = l.step+1, 0
		}
	}
	return first
}

// Feed counts the train steps that explore steps are enough for, and writes them down in order: for style FullyAsync.
type Feed struct {
	order *synchronizer.Order
	lines *TrainLines
}

// NewFeed returns the Feed of what is put into an exchange from where a trainer continues after a state. trained and
// oldest are as for NewTrainLines.
func NewFeed(order *synchronizer.Order, to buffer.Exchange, after trainer.State, trained int,
	oldest func(step int) int) (*Feed, error) {
	last, kept := to.Explored()
	if !kept { // the trainer's place says more than the log, which may be of another train_batch_size
		last = max(1, after.Position.Step) - 1
		done := after.Step
		if after.Position.Count > 0 { // the last train step reads of the explore step after
			done--
		}
		return &Feed{order, NewTrainLines(after, trained, oldest)}, order.Count(last, done)
	}
	f, known := order.Feed(last)
	if !known {
		f = synchronizer.Feed{Trained: after.Step}
	}
	lines := NewTrainLines(trainer.State{Step: f.Trained, Position: buffer.Position{Step: last + 1}}, trained, oldest)
	lines.filled = f.Left
	return &Feed{order, lines}, order.Count(last, f.Trained)
}

// put takes what an explore step hands on, before it does. Steps come in order.
func (f *Feed) put(step int, list []*experience.Experience) error {
	if f == nil || step < f.lines.next {
		return nil // it is explored again for what is learned from it
	}
	f.lines.Line(step, list)
	return f.order.Fed(step, synchronizer.Feed{Trained: f.lines.step - 1, Left: f.lines.filled})
}
