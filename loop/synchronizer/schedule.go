package synchronizer

// Schedule says when weights travel: every Interval steps, with the explorer Offset steps ahead.
type Schedule struct {
	Interval int // at least 1
	Offset   int // 0 is on-policy when Interval is 1
}

// Version returns the version that explore step (1, 2, …) samples with.
//
//	interval 1, offset 0: 0 1 2 3 …   interval 1, offset 1: 0 0 1 2 …   interval 2, offset 1: 0 0 0 2 2 4 …
func (s Schedule) Version(step int) int {
	behind := step - 1 - s.Offset
	if behind < 0 {
		return 0
	}
	return behind / s.Interval * s.Interval
}

// Publishes reports whether the trainer publishes after train step.
func (s Schedule) Publishes(step int) bool { return step%s.Interval == 0 }

// Due reports whether the explorer asks for newer weights before explore step: every Interval steps after the first
// Offset.
func (s Schedule) Due(step int) bool {
	behind := step - 1 - s.Offset
	return behind > 0 && behind%s.Interval == 0
}
