// Package monitor records how a run goes: metrics.jsonl with one line per training step, and the same numbers and some
// samples for a service (package sink). It also holds the statistics of repeated evaluation (mean@n, best@k, pass@k).
package monitor

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Config says where and how a run is recorded.
type Config struct {
	// the job directory; metrics.jsonl is written there and TensorBoard files below monitor/tensorboard
	Dir  string
	Log  string           // the file of metrics in Dir; metrics.jsonl when empty
	Open OpenSink         // the service that gets the metrics too; may be nil. See package sink
	Args map[string]any   // monitor.monitor_args
	Keep int              // the last committed step; -1 for a new run
	Now  func() time.Time // the clock for TensorBoard's wall_time; time.Now when nil

	// What a service is told about the run.
	Project, Group, Name string
	// whose runs are begun at once, so that a service that is not there is known at the start
	Roles     []string
	Settings  map[string]any              // the whole configuration
	LookupEnv func(string) (string, bool) // for keys and addresses; nil: there are none
	Warn      func(string)                // called once when a service does not answer; may be nil
}

// Monitor gathers the metrics of a step from all roles and writes them when the step is done. Safe for concurrent use.
//
// metrics.jsonl has exactly one line per training step, in step order, with the trainer's and the explorer's metrics of
// that step and the evaluations that belong to it (eval/*: of the weights that the step sampled with, in the last line
// of the trained weights; the line of step 0 is the evaluation at the start and exists only when there was one).
// A service such as TensorBoard gets the same numbers, one run per role.
type Monitor struct {
	config Config

	mu      sync.Mutex
	log     *log
	sinks   map[string]Sink             // by role
	pending map[int]map[string]Metrics  // by step and role
	samples map[int]map[string][]string // files, by step and role
	limit   int                         // samples of a step that a sink gets

	finished bool
}

// Open starts or continues the records in c.Dir: metrics.jsonl is cut back to c.Keep.
func Open(c Config) (*Monitor, error) { return OpenOn(disk.OS(), c) }

// OpenOn is Open with metrics.jsonl written through a file system of the project's own, which may be one that fails.
func OpenOn(to disk.FS, c Config) (*Monitor, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	limit, err := c.sampleLimit()
	if err != nil {
		return nil, err
	}
	l, err := openLog(to, filepath.Join(c.Dir, cmp.Or(c.Log, "metrics.jsonl")), c.Keep)
	if err != nil {
		return nil, err
	}
	m := &Monitor{config: c, log: l, sinks: make(map[string]Sink),
		pending: make(map[int]map[string]Metrics), samples: make(map[int]map[string][]string), limit: limit}
	for _, role := range c.Roles {
		if _, err := m.sink(role); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

// Add notes metrics of a step under a role ("trainer", "explorer"). The explorer may be steps ahead of the trainer. A
// later value of a key replaces an earlier one.
func (m *Monitor) Add(step int, role string, metrics Metrics) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pending[step] == nil {
		m.pending[step] = make(map[string]Metrics)
	}
	if m.pending[step][role] == nil {
		m.pending[step][role] = make(Metrics)
	}
	m.pending[step][role].Merge(metrics)
}

// CommitAlone is Commit for a step that has these metrics and no others.
func (m *Monitor) CommitAlone(step int, role string, metrics Metrics) (Metrics, error) {
	m.mu.Lock()
	delete(m.pending, step)
	delete(m.samples, step)
	m.mu.Unlock()
	m.Add(step, role, metrics)
	return m.Commit(step)
}

// Commit writes the line of a step and returns its metrics; roles are merged in order of their names. Steps are
// committed in order. It must return before the step is committed in the run's own state: a line too many is cut on
// resume, a missing one would stay missing.
func (m *Monitor) Commit(step int) (Metrics, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	roles := m.pending[step]
	delete(m.pending, step)
	all := make(Metrics)
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		all.Merge(roles[role])
	}
	if err := m.log.write(step, all); err != nil {
		return nil, err
	}
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		s, err := m.sink(role)
		if err != nil {
			return nil, err
		}
		if s == nil {
			continue
		}
		at := m.config.Now()
		if err := m.sendSamples(s, at, step, role); err != nil {
			return nil, err
		}
		if err := s.Write(at, step, roles[role]); err != nil {
			return nil, err
		}
	}
	delete(m.samples, step)
	return all, nil
}

func (m *Monitor) sink(role string) (Sink, error) {
	if s := m.sinks[role]; s != nil || m.config.Open == nil {
		return s, nil
	}
	s, err := m.config.Open(m.config, role)
	if err == nil {
		m.sinks[role] = s
	}
	return s, err
}

// Finish says that the run has come to its end, which services show. It is called before Close.
func (m *Monitor) Finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finished = true
}

// Last is the step of the last line in metrics.jsonl, -1 when there is none.
func (m *Monitor) Last() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.last
}

// Close closes the files. Steps that were not committed are not written.
func (m *Monitor) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	errs := []error{m.log.file.Close(), m.log.sums.file.Close()}
	for _, role := range slices.Sorted(maps.Keys(m.sinks)) {
		errs = append(errs, m.sinks[role].Close(m.finished))
	}
	return errors.Join(errs...)
}
