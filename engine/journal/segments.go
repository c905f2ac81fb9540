package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/wal"
)

// segments is the write-ahead log: numbered files, the last of which is appended to. Each begins with a header that
// has the length of the previous one. A rotation that fails leaves a next segment with a header or without; the current
// one grows on, and the next rotation adds a header.
type segments struct {
	dir      string
	opts     wal.Options
	numerics string
	limit    int64 // of one segment, bytes

	compacting sync.Mutex // held while segments are removed

	mu      sync.Mutex // taken after a model's
	current *wal.Log
	ordinal int
	maxSeq  map[string]int64 // per model, the last SeqID of an operation in the current segment
	old     []segment        // closed segments, oldest first
}

type segment struct {
	path   string
	maxSeq map[string]int64
	bytes  int64
}

// position is the end of a record in one of the segments.
type position struct {
	log *wal.Log
	at  int64
}

func newSegments(dir, numerics string, o Options) *segments {
	return &segments{dir: dir, numerics: numerics, limit: o.SegmentBytes, maxSeq: map[string]int64{},
		opts: logOptions(o.FS, o.Synced, o.Warn)}
}

func logOptions(dfs disk.FS, synced func(time.Duration), notice func(string)) wal.Options {
	return wal.Options{FS: dfs, Synced: synced, Notice: notice}
}

func segmentPath(dir string, n int) string { return filepath.Join(dir, fmt.Sprintf(segmentName, n)) }

// listSegments finds the segments of a journal, oldest first, and the missing ones of which only the marks exist.
func listSegments(dir string) (paths, missing []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("journal: %w", err)
	}
	there := map[string]bool{}
	for _, e := range entries {
		name, marked := strings.CutSuffix(e.Name(), ".mark")
		if !strings.HasPrefix(name, "log-") || strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, ".aside") {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(name, segmentName, &n); err != nil {
			return nil, nil, fmt.Errorf("journal: %s is not a name of a log segment; move it elsewhere",
				filepath.Join(dir, e.Name()))
		}
		there[segmentPath(dir, n)] = there[segmentPath(dir, n)] || !marked
	}
	for _, path := range slices.Sorted(maps.Keys(there)) {
		if there[path] {
			paths = append(paths, path)
		} else {
			missing = append(missing, path)
		}
	}
	return paths, missing, nil
}

// segmentPaths lists the segments of a journal, oldest first, and the number of the first. A missing one is an error.
func segmentPaths(dir string) (paths []string, first int, err error) {
	paths, missing, err := listSegments(dir)
	if err != nil {
		return nil, 0, err
	}
	if len(missing) > 0 {
		return nil, 0, fmt.Errorf("journal: %s is missing but its marks exist; restore it from a backup", missing[0])
	}
	if len(paths) > 0 {
		fmt.Sscanf(filepath.Base(paths[0]), segmentName, &first)
	}
	for i, path := range paths {
		if path != segmentPath(dir, first+i) {
			return nil, 0, fmt.Errorf("journal: %s is missing but %s exists; restore it from a backup",
				segmentPath(dir, first+i), path)
		}
	}
	return paths, first, nil
}

// begin starts segment n; before is the length of the previous segment in bytes.
func (s *segments) begin(n int, before int64) error {
	path := segmentPath(s.dir, n)
	l, err := wal.Open(path, s.opts, func(byte, []byte) error { return nil })
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	raw, err := json.Marshal(header{Version: version, Numerics: s.numerics, Before: before})
	at := int64(0)
	if err == nil {
		at, err = l.Append(byte(recHeader), raw)
	}
	if err == nil {
		err = l.Sync(at)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("journal: start %s: %w", path, err), l.Close())
	}
	s.current, s.ordinal, s.maxSeq = l, n, map[string]int64{}
	return nil
}

// append adds a record and returns the position to sync up to.
func (s *segments) append(kind recordKind, v any) (position, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return position{}, fmt.Errorf("journal: record %c: %w", kind, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := s.current.Append(byte(kind), raw)
	if err != nil {
		return position{}, tooLarge(err)
	}
	note(s.maxSeq, v)
	return position{s.current, at}, nil
}

// note records the last request that a segment has of each model, which decides how long the segment is needed.
func note(maxSeq map[string]int64, v any) {
	switch v := v.(type) {
	case operation:
		maxSeq[v.ModelID] = max(maxSeq[v.ModelID], v.SeqID)
	case created:
		maxSeq[v.ModelID] = max(maxSeq[v.ModelID], 0) // until there is a snapshot
	case unloaded:
		maxSeq[v.ModelID] = never // until its tombstone is written
	}
}

func (p position) sync() error {
	if p.log == nil {
		return nil // of an earlier process
	}
	return p.log.Sync(p.at)
}

// rotate closes the current segment and starts the next one. Appending waits meanwhile.
func (s *segments) rotate() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.current.Sync(s.current.End()); err != nil {
		return err
	}
	last := s.current
	closed := segment{segmentPath(s.dir, s.ordinal), s.maxSeq, last.Size()}
	if err := s.begin(s.ordinal+1, closed.bytes); err != nil {
		return err
	}
	s.old = append(s.old, closed)
	return last.Close()
}

func (s *segments) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.Size() > s.limit
}

// heal returns nil when the log accepts records.
func (s *segments) heal() error {
	s.mu.Lock()
	l := s.current
	s.mu.Unlock()
	return l.Heal()
}

// closedBytes is the length of the closed segments.
func (s *segments) closedBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(0)
	for _, c := range s.old {
		n += c.bytes
	}
	return n
}

// oldest returns the oldest closed segment, which does not change any more.
func (s *segments) oldest() (segment, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.old) == 0 {
		return segment{}, false
	}
	return s.old[0], true
}

// holders lists the models that still need the oldest closed segment. applied is called without the lock, since
// requests take it while they hold their model's.
func (s *segments) holders(applied func(id string) int64) (ids []string) {
	old, _ := s.oldest()
	for id, seq := range old.maxSeq {
		if applied(id) < seq {
			ids = append(ids, id)
		}
	}
	return ids
}

// compact removes the oldest closed segments whose operations are all in snapshots.
func (s *segments) compact(applied func(id string) int64) error {
	s.compacting.Lock()
	defer s.compacting.Unlock()
	for {
		old, ok := s.oldest()
		if !ok || len(s.holders(applied)) > 0 {
			return nil
		}
		if err := wal.Remove(s.opts.FS, old.path); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		s.mu.Lock()
		s.old = s.old[1:]
		s.mu.Unlock()
	}
}

func (s *segments) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.current.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
