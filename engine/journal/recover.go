package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/wal"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// recover restores snapshots, reads the log, and replays the requests after the snapshots.
func (j *Journal) recover(ctx context.Context) error {
	j.log = newSegments(j.dir, j.m.NumericsID(), j.opts)
	if err := j.readTombstones(); err != nil {
		return err
	}
	if err := j.restoreSnapshots(); err != nil {
		return err
	}
	records, results, err := j.readLog()
	if err != nil {
		return err
	}
	results = j.executed(results)
	known := map[operationKey]loggedResult{}
	for _, r := range results {
		known[operationKey{r.ModelID, r.SeqID}] = r
	}
	if err := j.restoreResults(results); err != nil {
		return err
	}
	return j.replay(ctx, records, known)
}

type operationKey struct {
	model string
	seq   int64
}

// restoreResults makes futures of the logged results that the snapshots of loaded models include. Evicted models
// have theirs in the snapshots.
func (j *Journal) restoreResults(results []loggedResult) error {
	for _, r := range results {
		m := j.models[r.ModelID]
		if m == nil || m.gone || m.evicted || r.SeqID > m.applied {
			continue
		}
		if err := m.restoreResult(r); err != nil {
			return fmt.Errorf("journal: result of request %d of model %s: %w", r.SeqID, r.ModelID, err)
		}
	}
	return nil
}

// restoreSnapshots registers the models of the snapshots. They stay evicted until a request or the replay needs
// them.
func (j *Journal) restoreSnapshots() error {
	paths, err := snapshots(j.dir)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for _, path := range paths {
		s, err := openSnapshot(path)
		if err != nil {
			if err := j.setAside(path, err); err != nil {
				return err
			}
			continue
		}
		s.close()
		// killed between writing the tombstone and removing this
		if m := j.models[s.Created.ModelID]; m != nil && m.gone {
			if err := j.opts.FS.Remove(path); err != nil {
				return fmt.Errorf("journal: %w", err)
			}
			continue
		}
		if s.Numerics != j.m.NumericsID() {
			j.opts.Warn(fmt.Sprintf("snapshot %s was made with numerics %s, this program has %s: requests replayed "+
				"after it can differ in the last bits", path, s.Numerics, j.m.NumericsID()))
		}
		m := newTrainingClient(j, s.Created, nil)
		m.applied, m.snapped, m.evicted = s.Applied, true, true
		m.ops.Reserve(s.Applied)
		m.info = s.Info
		if m.info.OptimizerType == "" { // a version before the field may have written it
			m.info.OptimizerType = s.Created.optimizer()
		}
		m.created.Request = nil
		j.add(m)
	}
	return nil
}

// leaveOut marks a model that cannot be restored, for instance because its base model is missing. Its requests fail
// with the reason. Its records stay in the log for the next start.
func (j *Journal) leaveOut(m *trainingClient, bad error) error {
	if errors.Is(bad, tinker.ErrClosed) || j.ctx.Err() != nil {
		return bad
	}
	j.opts.Warn(fmt.Sprintf("model %s cannot be used: %v", m.id, bad))
	m.broken = bad
	return nil
}

// setAside registers a model whose snapshot cannot be read: its requests are refused with the reason, and other
// models are not affected.
func (j *Journal) setAside(path string, broken error) error {
	id, err := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "model-"), ".snap"))
	if err != nil {
		return broken
	}
	j.opts.Warn(fmt.Sprintf("model %s cannot be used: %v", id, broken))
	m := newTrainingClient(j, created{ModelID: id}, nil)
	m.evicted, m.broken = true, broken
	j.models[id] = m
	return nil
}

func (j *Journal) add(m *trainingClient) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.models[m.id], j.byKey[key{m.created.Session, m.created.Seq}] = m, m
}

// all lists the models by id.
func (j *Journal) all() []*trainingClient {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := slices.Collect(maps.Values(j.models))
	slices.SortFunc(list, func(a, b *trainingClient) int { return strings.Compare(a.id, b.id) })
	return list
}

// readLog returns the records to replay and the results, and opens the last segment for appending.
func (j *Journal) readLog() (records []any, results []loggedResult, err error) {
	paths, first, err := segmentPaths(j.dir)
	if err != nil {
		return nil, nil, err
	}
	before := int64(0)
	for i, path := range paths {
		r := &segmentReader{path: path, before: before, maxSeq: map[string]int64{}}
		if i > 0 {
			r.previous = paths[i-1]
		}
		l, err := wal.Open(path, j.log.opts, r.read)
		if err != nil {
			return nil, nil, fmt.Errorf("journal: %w", err)
		}
		j.cut += l.Cut()
		records, results, before = append(records, r.records...), append(results, r.results...), l.Size()
		if i < len(paths)-1 {
			j.log.old = append(j.log.old, segment{path, r.maxSeq, before})
			if err := l.Close(); err != nil {
				return nil, nil, fmt.Errorf("journal: %w", err)
			}
			continue
		}
		j.log.current, j.log.ordinal, j.log.maxSeq = l, first+i, r.maxSeq
	}
	if len(paths) == 0 {
		return nil, nil, j.log.begin(1, 0)
	}
	return records, results, nil
}

// segmentReader collects the records of one segment.
type segmentReader struct {
	path     string
	previous string // the segment before it
	before   int64  // its bytes; 0 is unknown
	maxSeq   map[string]int64
	records  []any
	results  []loggedResult
}

func (r *segmentReader) read(k byte, payload []byte) error {
	switch kind := recordKind(k); kind {
	case recHeader:
		var h header
		if err := json.Unmarshal(payload, &h); err != nil {
			return err
		}
		if h.Version != version {
			return fmt.Errorf(
				"format version %d; this program reads %d; another version wrote it: use that one", h.Version, version)
		}
		// it is longer after a rotation that failed behind this header
		if h.Before > r.before && r.before != 0 {
			return fmt.Errorf("%s has %d bytes instead of %d: it is damaged, and promised records are "+
				"missing; restore it from a backup", r.previous, r.before, h.Before)
		}
		return nil
	case recCreate, recCreateFromState:
		return keep[created](r, payload)
	case recOp:
		return keep[operation](r, payload)
	case recDelete:
		return keep[deleted](r, payload)
	case recUnload:
		return keep[unloaded](r, payload)
	case recResult:
		var v loggedResult
		err := json.Unmarshal(payload, &v)
		r.results = append(r.results, v)
		return err
	}
	return fmt.Errorf("record of kind %q, which this version does not know", k)
}

func keep[T any](r *segmentReader, payload []byte) error {
	var v T
	if err := json.Unmarshal(payload, &v); err != nil {
		return err
	}
	note(r.maxSeq, v)
	r.records = append(r.records, v)
	return nil
}
