package algorithm

import (
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// Schedule is the learning rate as a function of the step.
type Schedule struct {
	LR       float64 // the peak
	MinRatio float64 // the floor, as a share of LR, in [0, 1]
	Warmup   int     // steps of linear rise from MinRatio to 1
	Total    int     // steps at whose end the decay is over; 0 is unlimited
	Cosine   bool    // decay by half a cosine; otherwise constant after the warm-up
}

// NewSchedule makes a schedule from the keys of algorithm.optimizer and trainer.total_steps (0 when unlimited).
// warmupSteps < 0 means warmupRatio * total; kind is "constant" or "cosine".
func NewSchedule(lr, minRatio float64, warmupSteps int, warmupRatio float64, total int, kind string) (Schedule, error) {
	s := Schedule{LR: lr, MinRatio: minRatio, Warmup: warmupSteps, Total: total, Cosine: kind == "cosine"}
	switch {
	case kind != "constant" && kind != "cosine":
		return s, fmt.Errorf("algorithm: optimizer.lr_scheduler_type %q is not known; it is one of [constant cosine]",
			kind)
	case minRatio < 0 || minRatio > 1 || math.IsNaN(minRatio):
		return s, fmt.Errorf("algorithm: optimizer.min_lr_ratio is %v; it must lie between 0 and 1", minRatio)
	case warmupSteps < 0 && (warmupRatio < 0 || warmupRatio > 1 || math.IsNaN(warmupRatio)):
		return s, fmt.Errorf("algorithm: optimizer.lr_warmup_steps_ratio is %v; it must lie between 0 and 1",
			warmupRatio)
	case warmupSteps < 0 && warmupRatio > 0 && total <= 0:
		return s, fmt.Errorf("algorithm: optimizer.lr_warmup_steps_ratio is %v but trainer.total_steps is not set; "+
			"set it, or give lr_warmup_steps", warmupRatio)
	case s.Cosine && total <= 0:
		return s, fmt.Errorf("algorithm: optimizer.lr_scheduler_type is cosine but trainer.total_steps is not set; " +
			"set it, or use constant")
	}
	if warmupSteps < 0 {
		s.Warmup = int(warmupRatio * float64(total))
	}
	return s, nil
}

// At returns the learning rate of the update that completes the given step; the first update is step 1. With m =
// MinRatio, W = Warmup and T = Total:
//
//	t < W: LR * (m + (1-m)*t/W)
//	else:  LR * max(m, m + (1-m)*g), g = 1 or (1+cos(pi*p))/2, p = (t-W)/max(1,T-W) up to 1
//
// So the last step of a cosine has the floor, and the last step of a warm-up as long as the run has the peak.
func (s Schedule) At(step int) float64 {
	m := s.MinRatio
	if step < s.Warmup {
		return s.LR * (m + float64((1-m)*float64(step)/float64(max(1, s.Warmup))))
	}
	if !s.Cosine {
		return s.LR
	}
	p := min(1, float64(step-s.Warmup)/float64(max(1, s.Total-s.Warmup)))
	return s.LR * max(m, m+float64((1-m)*(1+elementary.Cos(math.Pi*p))/2))
}
