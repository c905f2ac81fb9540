package load

import (
	"context"
	"fmt"
	"time"
)

// Finding is one line of a report.
type Finding struct {
	What     string `json:"what"`
	Measured string `json:"measured"`
	Bound    string `json:"bound,omitempty"`
	Missed   bool   `json:"missed,omitempty"`
}

// Finding reports the round trips so far.
func (t *Trip) Finding() Finding {
	return Finding{What: fmt.Sprintf("round trip, one datum of %d tokens", t.tokens),
		Measured: fmt.Sprintf("p50 %s, p90 %s, p99 %s of %d", Show(t.Times.At(.5)), Show(t.Times.At(.9)),
			Show(t.Times.At(.99)), len(t.Times))}
}

// Crowd is many clients at once.
type Crowd struct {
	Runs, Steps int // training runs, and the steps of each
	Samples     int
	Burst       int // samples, and as many training requests, that are pending together
}

// Crowd measures each kind in turn.
func (l *Load) Crowd(ctx context.Context, c Crowd) (found []Finding, err error) {
	runs, err := l.Runs(ctx, c.Runs, c.Steps)
	if err != nil {
		return found, err
	}
	found = append(found, Finding{What: fmt.Sprintf("%d runs training at once", c.Runs),
		Measured: fmt.Sprintf("%.0f steps/s, losses %.2f to %.2f, all correct",
			float64(c.Runs*c.Steps)/runs.Took.Seconds(), runs.First, runs.Last)})
	many, err := l.Samples(ctx, c.Samples)
	if err != nil {
		return found, err
	}
	found = append(found, Finding{What: fmt.Sprintf("%d samples at once", c.Samples),
		Measured: fmt.Sprintf("%s, %.0f tokens/s, all correct", Show(many.Answered),
			float64(many.Tokens)/many.Answered.Seconds())})
	burst, err := l.Burst(ctx, c.Burst, c.Burst)
	if err != nil {
		return found, err
	}
	return append(found, Finding{What: fmt.Sprintf("%d samples + %d forward_backwards", c.Burst, c.Burst),
		Measured: fmt.Sprintf("accepted in %s, answered in %s, at most %d pending, all correct",
			Show(burst.Accepted), Show(burst.Answered), burst.Outstanding)}), nil
}

// Show writes a duration with three digits.
func Show(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
