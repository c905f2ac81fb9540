// Package state is the durable state of a server: sessions, training runs, samplers, samples and settings of
// checkpoints, in one log and in memory.
package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/wal"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
)

// The kinds of records in the log; payloads are JSON.
const (
	RecSession    = 'S' // Session; the latest one counts
	RecFinish     = 'E' // Finish
	RecModel      = 'C' // ModelRecord
	RecMade       = 'M' // MadeRecord
	RecReject     = 'X' // Rejection
	RecSampler    = 'P' // Sampler
	RecDropped    = 'U' // SamplerKey: an unnamed sampler was collected
	RecCheckpoint = 'K' // CheckpointSettings
	RecSample     = 'A' // SampleRecord
	RecVersion    = 'V' // VersionRecord
	RecResult     = 'R' // SampleResult
	RecStability  = 'Q' // Recording
)

// Store is the durable state. Its mutex guards everything in it and the volatile fields of sessions,
// models, samplers and samples. Everything is in the log except fields marked volatile.
type Store struct {
	sync.Mutex
	Log *wal.Log
	now func() time.Time

	Sessions map[string]*Session
	Models   map[string]*Model
	Samplers map[string]*Sampler
	Unnamed  map[string]string                       // checkpoint path of an unnamed sampler -> its id
	Rejects  map[TrainKey]Rejection                  // training requests that the server refused itself
	byTenant map[string][]TrainKey                   // of rejects, in the order they came
	Gaps     map[string][]Rejection                  // ranges of numbers that never arrived, by model
	Marks    map[string]map[int64]CheckpointSettings // by checkpoint path and the request that saved it
	Samples  map[SampleKey]*Sample
	Kept     map[string]*keptResults // volatile: by tenant, the samples that are done
	Recorded recordings              // stability information
	firstEnd int64                   // volatile: ends of samples are numbered from here, above an earlier process's
}

// TrainKey names a training request.
type TrainKey struct {
	Model string
	Seq   int64
}

// SampleKey names a sampling request.
type SampleKey struct {
	Sampler string
	Seq     int64
}

func newStore() *Store {
	return &Store{Sessions: map[string]*Session{}, Models: map[string]*Model{}, Samplers: map[string]*Sampler{},
		Unnamed: map[string]string{},
		Rejects: map[TrainKey]Rejection{}, byTenant: map[string][]TrainKey{}, Gaps: map[string][]Rejection{},
		Marks:   map[string]map[int64]CheckpointSettings{},
		Samples: map[SampleKey]*Sample{}, Kept: map[string]*keptResults{},
		Recorded: recordings{map[string]*Recording{}, map[string]int64{}}}
}

// LogName is the server's log in its folder.
const LogName = "server.log"

// Open reads the log in dir.
func Open(dir string, dfs disk.FS, l *life.Life, synced func(took time.Duration)) (*Store, error) {
	t := newStore()
	t.now, t.firstEnd = l.Now, l.Now().UnixMicro()
	var err error
	t.Log, err = wal.Open(filepath.Join(dir, LogName), wal.Options{FS: dfs,
		Notice: func(msg string) { l.Log.Warn(msg) },
		Synced: synced}, t.replay)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return t, nil
}

// Touch sets the times that are not in the log to now. The store is locked.
func (t *Store) Touch() {
	now := t.now()
	for _, u := range t.Sessions {
		u.Seen = now
	}
	for _, p := range t.Samplers {
		p.Used = now
	}
	for _, r := range t.Recorded.Of {
		r.Used = now
	}
}

// Rejected finds why a number was rejected. The store is locked.
func (t *Store) Rejected(model string, seq int64) (Rejection, bool) {
	if r, ok := t.Rejects[TrainKey{model, seq}]; ok {
		return r, true
	}
	for _, r := range t.Gaps[model] {
		if seq >= r.Seq && seq <= r.To {
			return r, true
		}
	}
	return Rejection{}, false
}

// SamplerKey names a sampler.
type SamplerKey struct {
	ID string `json:"id"`
}

// replay applies one record of the log.
func (t *Store) replay(kind byte, payload []byte) error {
	switch kind {
	case RecSession:
		return replay(payload, func(v *Session) { t.Sessions[v.ID] = v })
	case RecFinish:
		return replay(payload, func(v *Finish) {
			if u := t.Sessions[v.Session]; u != nil {
				u.Finished = v.Reason
			}
		})
	case RecModel:
		return replay(payload, func(v *ModelRecord) { t.Models[v.ID] = NewModel(*v) })
	case RecMade:
		return replay(payload, func(v *MadeRecord) {
			if m := t.Models[v.ID]; m != nil {
				m.WasMade = true
			}
		})
	case RecReject:
		return replay(payload, func(v *Rejection) { t.AddReject(*v) })
	case RecSampler:
		return replay(payload, t.AddSampler)
	case RecDropped:
		return replay(payload, func(v *SamplerKey) { t.DropSampler(v.ID) })
	case RecCheckpoint:
		return replay(payload, func(v *CheckpointSettings) { t.AddMark(*v) })
	case RecSample:
		return replay(payload, func(v *SampleRecord) { t.Samples[SampleKey{v.Sampler, v.Seq}] = NewSample(*v) })
	case RecVersion:
		return replay(payload, func(v *VersionRecord) {
			if p := t.Samples[SampleKey{v.Sampler, v.Seq}]; p != nil && p.Finished.IsZero() {
				p.AddVersion(*v)
			}
		})
	case RecStability:
		return replay(payload, t.AddRecording)
	case RecResult:
		return replay(payload, func(v *SampleResult) {
			p := t.Samples[SampleKey{v.Sampler, v.Seq}]
			if p == nil || !p.Finished.IsZero() {
				return
			}
			p.Finish(*v)
			if w := t.Samplers[v.Sampler]; w != nil {
				w.Ended(p)
			}
		})
	}
	return fmt.Errorf("record of kind %q, which this version does not know", kind)
}

func replay[T any](payload []byte, apply func(*T)) error {
	v := new(T)
	if err := json.Unmarshal(payload, v); err != nil {
		return err
	}
	apply(v)
	return nil
}

// Record appends v to the log; the store is locked, so that the log has the order of the state's changes. The caller
// must sync up to the returned position before it answers a client.
func (t *Store) Record(kind byte, v any) (int64, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return 0, fmt.Errorf("server: %w", err)
	}
	return t.Log.Append(kind, raw)
}

// Change runs f under the lock and makes its records durable. If the request was recorded before (at is 0), change
// waits too, since that record may not be on the disk yet.
func (t *Store) Change(f func(t *Store) (at int64, err error)) error {
	t.Lock()
	at, err := f(t)
	if at == 0 {
		at = t.Log.End()
	}
	t.Unlock()
	if err != nil {
		return err
	}
	return t.Log.Sync(at)
}

// Compact rewrites the log without obsolete records; the store is locked.
func (t *Store) Compact() error {
	return t.Log.Rewrite(func(add func(byte, []byte) error) (err error) {
		put := func(kind byte, v any) {
			raw, bad := json.Marshal(v)
			if bad == nil {
				bad = add(kind, raw)
			}
			err = errors.Join(err, bad)
		}
		for _, id := range slices.Sorted(maps.Keys(t.Sessions)) {
			put(RecSession, t.Sessions[id])
		}
		for _, m := range t.ModelsInOrder() {
			put(RecModel, m.ModelRecord)
			if m.WasMade {
				put(RecMade, MadeRecord{m.ID})
			}
		}
		for _, tenant := range slices.Sorted(maps.Keys(t.byTenant)) {
			for _, key := range t.byTenant[tenant] {
				put(RecReject, t.Rejects[key])
			}
		}
		for _, list := range t.Gaps {
			for _, r := range list {
				put(RecReject, r)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(t.Samplers)) {
			put(RecSampler, t.Samplers[id])
		}
		for _, marks := range t.Marks {
			for _, m := range marks {
				put(RecCheckpoint, m)
			}
		}
		for _, r := range t.Recorded.Of {
			put(RecStability, r)
		}
		for _, p := range t.Samples {
			put(RecSample, p.SampleRecord)
			if !p.Finished.IsZero() {
				put(RecResult, p.Result)
			}
		}
		return err
	})
}

// ModelsInOrder lists the training runs, the oldest first.
func (t *Store) ModelsInOrder() []*Model {
	list := slices.Collect(maps.Values(t.Models))
	slices.SortFunc(list, func(a, b *Model) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// maxRejects limits the rejected requests that are kept of a tenant; their texts are limited too.
const maxRejects = 8192

// AddReject keeps a rejected request. It forgets the tenant's oldest ones beyond maxRejects: the backend still knows
// that their numbers are used.
func (t *Store) AddReject(r Rejection) {
	r.Error = tinker.BriefText(r.Error) // an older version kept all of it
	if r.To != 0 {
		t.Gaps[r.Model] = append(t.Gaps[r.Model], r)
		return
	}
	key, tenant := TrainKey{r.Model, r.Seq}, ""
	if m := t.Models[r.Model]; m != nil && t.Sessions[m.Session] != nil {
		tenant = t.Sessions[m.Session].Tenant
	}
	if _, again := t.Rejects[key]; !again {
		t.byTenant[tenant] = append(t.byTenant[tenant], key)
	}
	t.Rejects[key] = r
	if old := t.byTenant[tenant]; len(old) > maxRejects {
		delete(t.Rejects, old[0])
		t.byTenant[tenant] = old[1:]
	}
}

// AddMark keeps a user's settings of a checkpoint.
func (t *Store) AddMark(m CheckpointSettings) {
	if t.Marks[m.Path] == nil {
		t.Marks[m.Path] = map[int64]CheckpointSettings{}
	}
	t.Marks[m.Path][m.Seq] = m
}

// StopTimers ends the wait for missing numbers.
func (t *Store) StopTimers() {
	t.Lock()
	defer t.Unlock()
	for _, m := range t.Models {
		if m.Gap != nil {
			m.Gap.Stop()
		}
	}
}
