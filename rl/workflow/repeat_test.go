package workflow

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A repetition that fails ends the others and the task; with Partial it does neither, unless all fail or the model is
// lost. Each repetition takes as many seconds as its number.
func TestRepeat(t *testing.T) {
	lost := fmt.Errorf("gone: %w", tinker.ErrLost)
	bad := errors.New("bad answer")
	for _, tt := range []struct {
		name    string
		partial bool
		errs    []error
		runs    string
		err     error
		took    time.Duration
	}{
		{"all succeed", false, []error{nil, nil, nil}, "[0 1 2]", nil, 3 * time.Second},
		{"one fails", false, []error{nil, bad, nil}, "[]", bad, 2 * time.Second},
		{"one fails, partial", true, []error{nil, bad, nil}, "[0 2]", nil, 3 * time.Second},
		{"all fail, partial", true, []error{bad, bad, bad}, "[]", bad, 3 * time.Second},
		{"lost, partial", true, []error{nil, lost, nil}, "[]", tinker.ErrLost, 3 * time.Second},
		{"limit, partial", true, []error{nil, nil, nil, nil, nil, nil}, "[0 1 2 3]", nil, 4500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
			defer cancel()
			begin, r := time.Now(), &Rollout{Partial: tt.partial}
			play := func(ctx context.Context, run int) ([]*experience.Experience, error) {
				select {
				case <-time.After(time.Duration(run+1) * time.Second):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				return []*experience.Experience{{EID: experience.EID{Run: run}}}, tt.errs[run]
			}
			list, err := Repeat(ctx, r, len(tt.errs), play)
			runs := []int{}
			for _, e := range list {
				runs = append(runs, e.EID.Run)
			}
			if fmt.Sprint(runs) != tt.runs || !errors.Is(err, tt.err) || time.Since(begin) != tt.took {
				t.Errorf("%s: runs %v, %v after %v", tt.name, runs, err, time.Since(begin))
			}
		})
	}
}
