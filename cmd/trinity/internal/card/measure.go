package card

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// evaluated matches the means of evaluations, such as eval/held-out/accuracy/mean@4.
var evaluated = regexp.MustCompile(`^eval/.+/mean@\d+$`)

// measure reads the evaluations before training and at the card's step.
func (c *Card) measure(job string) error {
	lines, err := monitor.ReadLog(filepath.Join(job, "metrics.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	at := map[int]monitor.Metrics{}
	for _, l := range lines {
		at[l.Step] = l.Metrics
	}
	for _, name := range slices.Sorted(maps.Keys(at[c.Step])) {
		if was, ok := at[0][name]; ok && c.Step > 0 && evaluated.MatchString(name) {
			c.Measured = append(c.Measured, Measure{strings.TrimPrefix(name, "eval/"), was, at[c.Step][name]})
		}
	}
	return nil
}
