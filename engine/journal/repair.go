package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/wal"
)

// Repair sets aside the parts of the journal in dir that a start could not read, and calls seen with the losses. No
// process may have the journal open. A model that lost a request loses the later ones too, since they were computed
// from it. Snapshots are not changed: a damaged snapshot stops its model, not the start.
func Repair(dir string, dfs disk.FS, seen func(line string)) error {
	paths, missing, err := listSegments(dir)
	if err != nil {
		return err
	}
	known := &salvage{ops: map[string]map[int64]bool{}, created: map[string]bool{}}
	damaged := len(missing) > 0
	o := logOptions(dfs, nil, seen)
	for _, path := range missing {
		seen(path + " is missing: its records are lost")
		if err := wal.Remove(dfs, path); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	if paths, err = fillGaps(dir, paths, o); err != nil {
		return err
	}
	for _, path := range paths {
		r := &segmentReader{path: path, maxSeq: map[string]int64{}}
		aside, err := wal.Repair(path, o, r.readLoose)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		for _, a := range aside {
			seen(fmt.Sprintf("%s: set aside %s", path, a))
		}
		damaged = damaged || len(aside) > 0
		known.add(r.records)
	}
	if !damaged {
		return nil
	}
	lost, err := known.lost(dir)
	if err != nil {
		return err
	}
	for id, from := range lost {
		seen(fmt.Sprintf("model %s: requests from number %d on are lost; it continues at the request before", id, from))
	}
	return cutModels(paths, o, lost)
}

// fillGaps makes empty segments in place of missing ones.
func fillGaps(dir string, paths []string, o wal.Options) (whole []string, err error) {
	var n int
	for i, path := range paths {
		if i == 0 {
			fmt.Sscanf(filepath.Base(path), segmentName, &n)
		}
		for ; path != segmentPath(dir, n); n++ {
			l, err := wal.Open(segmentPath(dir, n), o, func(byte, []byte) error { return nil })
			if err != nil {
				return nil, fmt.Errorf("journal: %w", err)
			}
			if err := l.Close(); err != nil {
				return nil, fmt.Errorf("journal: %w", err)
			}
			whole = append(whole, segmentPath(dir, n))
		}
		whole, n = append(whole, path), n+1
	}
	return whole, nil
}

// readLoose is read without the check of the previous segment, which is repaired too.
func (r *segmentReader) readLoose(kind byte, payload []byte) error {
	r.before = 0
	return r.read(kind, payload)
}

// salvage is the state of each model according to the undamaged records.
type salvage struct {
	ops     map[string]map[int64]bool
	created map[string]bool
}

func (s *salvage) add(records []any) {
	for _, rec := range records {
		switch r := rec.(type) {
		case created:
			s.created[r.ModelID] = true
		case operation:
			if s.ops[r.ModelID] == nil {
				s.ops[r.ModelID] = map[int64]bool{}
			}
			s.ops[r.ModelID][r.SeqID] = true
		}
	}
}

// lost returns, by model, the first missing request that later ones follow; 0 means that the record that creates the
// model is missing.
func (s *salvage) lost(dir string) (map[string]int64, error) {
	applied, err := appliedInSnapshots(dir)
	if err != nil {
		return nil, err
	}
	lost := map[string]int64{}
	for id, seqs := range s.ops {
		at, snapped := applied[id]
		if !snapped && !s.created[id] {
			lost[id] = 0
			continue
		}
		last := at
		for seq := range seqs {
			last = max(last, seq)
		}
		for seq := at + 1; seq <= last; seq++ {
			if !seqs[seq] {
				lost[id] = seq
				break
			}
		}
	}
	return lost, nil
}

func appliedInSnapshots(dir string) (map[string]int64, error) {
	paths, err := snapshots(dir)
	if err != nil {
		return nil, err
	}
	applied := map[string]int64{}
	for _, path := range paths {
		if s, err := openSnapshot(path); err == nil {
			applied[s.Created.ModelID] = s.Applied
			s.close()
		}
	}
	return applied, nil
}

// cutModels drops the requests after the lost ones, and the lengths of previous segments.
func cutModels(paths []string, o wal.Options, lost map[string]int64) error {
	for _, path := range paths {
		l, err := wal.Open(path, o, func(byte, []byte) error { return nil })
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		type kept struct {
			kind    byte
			payload []byte
		}
		var records []kept
		_, err = wal.Check(path, o, func(kind byte, payload []byte) error {
			if payload, err := stays(recordKind(kind), payload, lost); err != nil {
				return err
			} else if payload != nil {
				records = append(records, kept{kind, payload})
			}
			return nil
		})
		if err == nil {
			err = l.Rewrite(func(add func(byte, []byte) error) error {
				var errs []error
				for _, r := range records {
					errs = append(errs, add(r.kind, r.payload))
				}
				return errors.Join(errs...)
			})
		}
		if err := errors.Join(err, l.Close()); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	return nil
}

// stays returns the payload that a record keeps; nil if the record is dropped.
func stays(kind recordKind, payload []byte, lost map[string]int64) ([]byte, error) {
	switch kind {
	case recHeader:
		var h header
		if err := json.Unmarshal(payload, &h); err != nil {
			return nil, err
		}
		h.Before = 0
		return json.Marshal(h)
	case recOp, recResult:
		var v struct {
			ModelID string `json:"model_id"`
			SeqID   int64  `json:"seq_id"`
		}
		if err := json.Unmarshal(payload, &v); err != nil {
			return nil, err
		}
		from, cut := lost[v.ModelID]
		if !cut {
			from = math.MaxInt64
		}
		if v.SeqID >= from {
			return nil, nil
		}
	}
	return payload, nil
}
