package monitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// SampleSink is a Sink that takes samples too. They come before the metrics of their step.
type SampleSink interface {
	Sink
	Samples(at time.Time, step int, list []*rollout.Record) error
}

// samplesOfStep is how many samples of a step a sink gets, unless monitor_args.rollouts_per_step says otherwise.
const samplesOfStep = 16

// Samples notes that the samples of a step are in a file of records (docs/reference/rollouts.md). Sinks that take
// samples get some of them when the step is done.
func (m *Monitor) Samples(step int, role, path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.samples[step] == nil {
		m.samples[step] = map[string][]string{}
	}
	m.samples[step][role] = append(m.samples[step][role], path)
}

// sendSamples gives a sink the samples of a step.
func (m *Monitor) sendSamples(s Sink, at time.Time, step int, role string) error {
	to, ok := s.(SampleSink)
	paths := m.samples[step][role]
	if !ok || len(paths) == 0 || m.limit == 0 {
		return nil
	}
	var list []*rollout.Record
	for _, path := range paths {
		some, err := someOf(path, max(1, m.limit/len(paths)))
		if err != nil {
			return err
		}
		list = append(list, some...)
	}
	return to.Samples(at, step, list)
}

// someOf reads at most n records of a file, spread evenly over it, so that they are of many tasks. A file that is gone
// has none.
func someOf(path string, n int) (list []*rollout.Record, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	defer f.Close()
	all := 0
	ctx := context.Background()
	if err := rollout.Lines(ctx, f, func([]byte, int64, int64) { all++ }); err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	n = min(n, all)
	at := 0
	var bad error
	err = rollout.Lines(ctx, f, func(line []byte, _, _ int64) {
		defer func() { at++ }()
		if len(list) == n || at < len(list)*all/n || bad != nil {
			return
		}
		var r *rollout.Record
		if r, bad = rollout.Decode(bytes.TrimSpace(line)); bad == nil {
			list = append(list, r)
		}
	})
	if err := errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("monitor: %s: %w", path, err)
	}
	return list, nil
}

// sampleLimit is monitor_args.rollouts_per_step.
func (c Config) sampleLimit() (int, error) {
	v, ok := c.Args["rollouts_per_step"]
	if !ok || v == nil {
		return samplesOfStep, nil
	}
	var n int
	if _, err := fmt.Sscanf(fmt.Sprint(v), "%d", &n); err != nil || n < 0 || fmt.Sprint(n) != fmt.Sprint(v) {
		return 0, fmt.Errorf("monitor: monitor_args.rollouts_per_step is %v; it must be a number of samples, or 0 "+
			"for none", v)
	}
	return n, nil
}
