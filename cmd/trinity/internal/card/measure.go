package card

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// evaluated matches the means of evaluations, such as eval/held-out/accuracy/mean@4.
var evaluated = regexp.MustCompile(`^eval/.+/mean@\d+$`)

// longestLine is the most of a line of metrics, in bytes.
const longestLine = 4 << 20

// measure reads the evaluations before training and at the card's step.
func (c *Card) measure(job string) error {
	path := filepath.Join(job, "metrics.jsonl")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	before, after := map[string]float64{}, map[string]float64{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		step, _ := line["step"].(float64)
		keep(line, map[float64]map[string]float64{0: before, float64(c.Step): after}[step])
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if was, ok := before[name]; ok {
			c.Measured = append(c.Measured, Measure{strings.TrimPrefix(name, "eval/"), was, after[name]})
		}
	}
	return lines.Err()
}

// keep takes the evaluations of a line; into is nil for the lines of other steps.
func keep(line map[string]any, into map[string]float64) {
	if into == nil {
		return
	}
	for name, v := range line {
		if x, ok := v.(float64); ok && evaluated.MatchString(name) {
			into[name] = x
		}
	}
}
