package journal

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func (j *Journal) snapshotPath(modelID string) string {
	return filepath.Join(j.dir, "model-"+url.PathEscape(modelID)+".snap")
}

// due reports whether so much was computed or logged that a snapshot is worth its time.
func (m *trainingClient) due() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.compute > max(m.j.opts.SnapshotAfter, m.j.opts.share*m.took) || m.bytes > m.j.opts.SnapshotBytes
}

func (m *trainingClient) snapshotIfDue() {
	var err error
	if !m.leaves() && (m.due() || m.j.log.full()) {
		err = errors.Join(m.snapshot(), m.j.release())
	}
	err = errors.Join(err, m.j.boundReplay())
	if err != nil && m.j.ctx.Err() == nil {
		m.j.opts.Warn(fmt.Sprintf("a snapshot failed; the log keeps growing: %v", err))
	}
}

// boundReplay takes snapshots until the replay of all models is within the limit. Concurrent callers return at once.
func (j *Journal) boundReplay() error {
	if !j.bounding.TryLock() {
		return nil
	}
	defer j.bounding.Unlock()
	for most := j.replayable(); most != nil; most = j.replayable() {
		if err := most.snapshot(); err != nil {
			return err
		}
	}
	return nil
}

// replayable returns the model with the most compute to replay if the replay of all models exceeds the limit, else
// nil.
func (j *Journal) replayable() (most *trainingClient) {
	total, largest := time.Duration(0), time.Duration(0)
	for _, m := range j.all() {
		m.mu.Lock()
		if m.leaving == nil && !m.evicted && m.halted == nil { // else nothing of it is replayed
			total += m.compute
			if m.compute > largest {
				most, largest = m, m.compute
			}
		}
		m.mu.Unlock()
	}
	if total <= j.opts.ReplayMax {
		return nil
	}
	return most
}

// snapshot writes the model's state, starts a new log segment and removes the segments that no model needs any more.
func (m *trainingClient) snapshot() error {
	m.snapping.Lock()
	defer m.snapping.Unlock()
	return m.takeSnapshot()
}

// takeSnapshot is snapshot with m.snapping held. The snapshot of an evicted model stays as it is.
func (m *trainingClient) takeSnapshot() error {
	m.mu.Lock()
	spent, logged, idle, info := m.compute, m.bytes, m.evicted, m.info
	m.mu.Unlock()
	if idle {
		return nil
	}
	var t trailer
	var results []loggedResult
	begun := time.Now()
	if err := m.stopped(); err != nil {
		return err
	}
	err := disk.Replace(m.j.opts.FS, m.j.snapshotPath(m.id), func(w io.Writer) error {
		var err error
		results, err = writeSnapshot(w, func(w io.Writer) (trailer, []loggedResult, error) {
			applied, err := m.j.m.Snapshot(m.j.ctx, m.id, w)
			if err != nil {
				return t, nil, err
			}
			t = trailer{Version: version, Numerics: m.j.m.NumericsID(), Created: m.created, Applied: applied,
				Info: info}
			kept, err := m.kept(applied)
			return t, kept, errors.Join(err, m.stopped())
		})
		return err
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.applied, m.snapped, m.took = t.Applied, true, time.Since(begun)
	m.compute, m.bytes = m.compute-spent, m.bytes-logged
	m.dropOld(results)
	m.mu.Unlock()
	if err := m.j.log.rotate(); err != nil {
		return err
	}
	return m.j.log.compact(m.j.appliedOf)
}

// release takes snapshots of the models that need the oldest log segment when the log is long. Otherwise an idle model
// would keep every later record of other models.
func (j *Journal) release() error {
	if j.log.closedBytes() <= j.opts.SnapshotBytes {
		return nil
	}
	holders := j.log.holders(j.appliedOf)
	var errs []error
	for _, m := range j.all() {
		if slices.Contains(holders, m.id) && !m.leaves() {
			errs = append(errs, m.snapshot())
		}
	}
	return errors.Join(errs...)
}

// kept returns the newest results up to applied, in order and within the limits; the newest is always kept. The
// machine has executed those requests, so kept waits for watchers that have not recorded their results yet.
func (m *trainingClient) kept(applied int64) ([]loggedResult, error) {
	m.mu.Lock()
	var done []*acceptedRequest // newest first
	for seq := applied; seq > max(0, applied-int64(m.j.opts.KeepResults)); seq-- {
		if o, ok := m.ops.Get(seq); ok {
			done = append(done, o)
		}
	}
	m.mu.Unlock()
	var results []loggedResult
	bytes := int64(0)
	for _, o := range done {
		<-o.noted
		if o.result == nil {
			return nil, tinker.ErrClosed
		}
		if bytes += int64(len(o.result.Value)); bytes > m.j.opts.KeepBytes && len(results) > 0 {
			break
		}
		results = append(results, *o.result)
	}
	slices.Reverse(results)
	return results, nil
}

// dropOld forgets the results that the snapshot does not keep. m.mu is held.
func (m *trainingClient) dropOld(kept []loggedResult) {
	oldest := m.applied + 1
	if len(kept) > 0 {
		oldest = kept[0].SeqID
	}
	for seq, o := range m.ops.All() {
		if seq < oldest && o.result != nil {
			m.ops.Forget(seq)
		}
	}
}

// appliedOf is the last request of a model that the log need not keep; -1 for a model without a snapshot.
func (j *Journal) appliedOf(id string) int64 {
	j.mu.Lock()
	m := j.models[id]
	j.mu.Unlock()
	if m == nil {
		return -1
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.gone:
		return never
	case !m.snapped:
		return -1
	}
	return m.applied
}
