package record

// OwnLines has a line for each explore step.
type OwnLines struct{}

// Line implements Lines.
func (OwnLines) Line(step, _ int) int { return step }

// PlannedLines has the line that an explore step was planned for, whatever the steps hand on: a table is not read in
// the order in which it was filled.
type PlannedLines struct {
	Explored int // experiences that an explore step is planned to hand on
	Trained  int // experiences of a train step
}

// Line implements Lines.
func (l PlannedLines) Line(step, _ int) int { return (step-1)*l.Explored/l.Trained + 1 }

// TrainLines has the metrics of an explore step in the line of the first train step that trains on it, or if it hands
// on nothing on what follows it. That the line depends on what was handed on, and not on which of the two loops is
// faster, makes it the same in every run. Where several steps have one line, the last one's metrics stand there.
type TrainLines struct {
	Trained int // experiences of a train step
	Next    int // the explore steps before this one have their lines
	Given   int // they handed on this many experiences
}

// Line implements Lines.
func (l *TrainLines) Line(step, given int) int {
	if step < l.Next {
		return 0 // it is explored again for what is learned from it
	}
	line := l.Given/l.Trained + 1
	l.Given += given
	return line
}
