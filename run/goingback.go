package run

import (
	"fmt"
	"io"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

// goBacks is how often in a row a run goes back to the same saved state.
const goBacks = 5

// goingBack counts how often a run goes back because the server lost its model. The zero value is for a run that
// begins.
type goingBack struct {
	saved int // the step whose state the run went back to last
	again int // how often in a row
}

// to tells out that the run goes back to the state of step saved because of lost, or returns an error when it has
// done so too often.
func (b *goingBack) to(saved int, lost error, out io.Writer) error {
	if b.again++; b.saved != saved {
		b.saved, b.again = saved, 1
	}
	if b.again > goBacks {
		return fmt.Errorf("the server lost the run %d times after the state of step %d; what the server does not "+
			"keep is in docs/results/foreign.md: %w", b.again, saved, lost)
	}
	fmt.Fprintln(out, "warning:", foreign.Text(lost.Error()))
	where := fmt.Sprintf("goes back to step %d, the last whose state is saved on the server", saved)
	if saved == 0 {
		where = "begins again: no state is saved on the server yet"
	}
	fmt.Fprintf(out, "the run %s; trainer.save_interval says how often that is done\n", where)
	return nil
}
