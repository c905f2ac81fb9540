package plot

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// Point is the value of a metric after a step.
type Point struct {
	Step  int
	Value float64
}

// Run is the curve of one run.
type Run struct {
	Name   string // for the legend
	Points []Point
}

// Load reads the curve of a metric from a job directory, or from the metrics.jsonl itself. Steps without the metric
// are left out; a run that never has it is an error that names metrics it has.
func Load(path, key string) (Run, error) {
	name := filepath.Base(filepath.Clean(path))
	file := path
	if filepath.Ext(path) == ".jsonl" {
		name = filepath.Base(filepath.Dir(path))
	} else {
		file = filepath.Join(path, "metrics.jsonl")
	}
	lines, err := monitor.ReadLog(file)
	if err != nil {
		return Run{}, err
	}
	run := Run{Name: name}
	keys := make(monitor.Metrics)
	for _, l := range lines {
		if v, ok := l.Metrics[key]; ok && !math.IsNaN(v) {
			run.Points = append(run.Points, Point{l.Step, v})
		}
		keys.Merge(l.Metrics)
	}
	if len(run.Points) == 0 {
		return run, fmt.Errorf("plot: %s has no %q in its %d steps; it has %s", file, key, len(lines),
			some(keys.Keys()))
	}
	return run, nil
}

// some lists names, only the first dozen when there are many.
func some(names []string) string {
	const most = 12
	switch {
	case len(names) == 0:
		return "no metrics"
	case len(names) > most:
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
