package monitor

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Column is one number of a console line.
type Column struct {
	Key   string // the metric
	Label string // what it is called on the line
}

// Console writes one line per step, the same columns in the same order; a metric the step does not have is left out.
type Console struct {
	W       io.Writer
	Total   int // steps of the run, 0 when unlimited
	Columns []Column
}

// Print writes the line of a step, for example "step  7/50  reward 0.5469  tokens/s 812".
func (c *Console) Print(step int, m Metrics) error {
	var b strings.Builder
	if c.Total > 0 {
		total := strconv.Itoa(c.Total)
		fmt.Fprintf(&b, "step %*d/%s", len(total), step, total)
	} else {
		fmt.Fprintf(&b, "step %d", step)
	}
	for _, col := range c.Columns {
		if v, ok := m[col.Key]; ok {
			fmt.Fprintf(&b, "  %s %s", col.Label, strconv.FormatFloat(v, 'g', 4, 64))
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(c.W, b.String())
	return err
}
