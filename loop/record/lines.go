package record

// OwnLines has a line for each explore step.
type OwnLines struct{}

// Line implements Lines.
func (OwnLines) Line(step, _ int) int { return step }

// TrainLines has the metrics of an explore step in the line of the first train step that trains on it. That the line
// depends on what was handed on, and not on which of the two loops is faster, makes it the same in every run. Where
// steps hand on less than planned, a step keeps the line that it was planned for.
type TrainLines struct {
	Explored int // experiences that an explore step is planned to hand on
	Trained  int // experiences of a train step
	Next     int // the explore steps before this one
	Given    int // handed on this many experiences
}

// Line implements Lines.
func (l *TrainLines) Line(step, given int) int {
	line := (step-1)*l.Explored/l.Trained + 1
	if step < l.Next {
		return line // it is explored again for what is learned from it, and has its line
	}
	line = max(line, l.Given/l.Trained+1)
	l.Given += given
	return line
}
