package synchronizer

// Schedule says when weights travel: the explorer asks for newer ones every Interval explore steps, and the trainer
// publishes every Publish train steps.
type Schedule struct {
	Interval int // at least 1
	Publish  int // 0: as Interval
	Offset   int // explore steps that the explorer may be ahead; 0 is on-policy when Interval is 1
	Window   int // explore steps that are under way at a time; 0 is 1
}

// Version returns the version that explore step (1, 2, …) samples with if each explore step feeds one train step.
//
//	interval 1, offset 0: 0 1 2 3 …   interval 1, offset 1: 0 0 1 2 …   interval 2, offset 1: 0 0 0 2 2 4 …
func (s Schedule) Version(step int) int { return s.After(step, func(step int) int { return step }) }

// After returns the version that explore step samples with if the explore steps up to k feed fed(k) train steps.
func (s Schedule) After(step int, fed func(step int) int) int {
	return s.published(fed(s.learned(step)))
}

// learned is the last explore step that the weights which explore step samples with have learned from; 0 is none.
func (s Schedule) learned(step int) int { return max(0, step-1-s.Offset) / s.Interval * s.Interval }

// published is the version that is published last when so many train steps are done.
func (s Schedule) published(trained int) int { return trained / s.publish() * s.publish() }

func (s Schedule) publish() int {
	if s.Publish > 0 {
		return s.Publish
	}
	return s.Interval
}

// Publishes reports whether the trainer publishes after train step.
func (s Schedule) Publishes(step int) bool { return step%s.publish() == 0 }

// Due reports whether the explorer asks for newer weights before explore step: every Interval steps after the first
// Offset.
func (s Schedule) Due(step int) bool {
	behind := step - 1 - s.Offset
	return behind > 0 && behind%s.Interval == 0
}
