package server

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
)

// The kinds of records in it; payloads are JSON.
const (
	recSession    = 'S' // *session
	recFinish     = 'E' // finish
	recModel      = 'C' // *modelRecord
	recMade       = 'M' // madeRecord
	recReject     = 'X' // reject
	recSampler    = 'P' // *sampler
	recDropped    = 'U' // samplerKey: an unnamed sampler was collected
	recCheckpoint = 'K' // mark
	recSample     = 'A' // sampleRecord
	recResult     = 'R' // sampleResult
	recStability  = 'Q' // *recording
)

// store holds what a server must not forget. Its mutex guards everything in it and the volatile fields of sessions,
// models, samplers and samples. Everything is in the log except fields marked volatile.
type store struct {
	sync.Mutex
	log *wal.Log
	now func() time.Time

	sessions map[string]*session
	models   map[string]*model
	samplers map[string]*sampler
	unnamed  map[string]string                       // checkpoint path of an unnamed sampler -> its id
	rejects  map[trainKey]rejection                  // training requests that the server refused itself
	byTenant map[string][]trainKey                   // of rejects, in the order they came
	gaps     map[string][]rejection                  // ranges of numbers that never arrived, by model
	marks    map[string]map[int64]checkpointSettings // by checkpoint path and the request that saved it
	samples  map[sampleKey]*sample
	kept     map[string]*keptResults // volatile: by tenant, the samples that are done
	recorded recordings              // stability information
	firstEnd int64                   // volatile: ends of samples are numbered from here, above an earlier process's
}

type trainKey struct {
	model string
	seq   int64
}

type sampleKey struct {
	sampler string
	seq     int64
}

func newStore() *store {
	return &store{sessions: map[string]*session{}, models: map[string]*model{}, samplers: map[string]*sampler{},
		unnamed: map[string]string{},
		rejects: map[trainKey]rejection{}, byTenant: map[string][]trainKey{}, gaps: map[string][]rejection{},
		marks:   map[string]map[int64]checkpointSettings{},
		samples: map[sampleKey]*sample{}, kept: map[string]*keptResults{},
		recorded: recordings{map[string]*recording{}, map[string]int64{}}}
}

// logName is the server's log in its folder.
const logName = "server.log"

// openStore reads the log in dir.
func openStore(dir string, dfs disk.FS, l *life, synced func(took time.Duration)) (*store, error) {
	t := newStore()
	t.now, t.firstEnd = l.now, l.now().UnixMicro()
	var err error
	t.log, err = wal.Open(filepath.Join(dir, logName), wal.Options{FS: dfs, Legacy: wal.LegacyLedger,
		Notice: func(msg string) { l.log.Warn(msg) },
		Synced: synced}, t.replay)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return t, nil
}

// touch sets the times that are not in the log to now. The store is locked.
func (t *store) touch() {
	now := t.now()
	for _, u := range t.sessions {
		u.seen = now
	}
	for _, p := range t.samplers {
		p.used = now
	}
	for _, r := range t.recorded.of {
		r.used = now
	}
}

// rejected finds why a number was rejected. The store is locked.
func (t *store) rejected(model string, seq int64) (rejection, bool) {
	if r, ok := t.rejects[trainKey{model, seq}]; ok {
		return r, true
	}
	for _, r := range t.gaps[model] {
		if seq >= r.Seq && seq <= r.To {
			return r, true
		}
	}
	return rejection{}, false
}

type samplerKey struct {
	ID string `json:"id"`
}

// replay applies one record of the log.
func (t *store) replay(kind byte, payload []byte) error {
	switch kind {
	case recSession:
		return replay(payload, func(v *session) { t.sessions[v.ID] = v })
	case recFinish:
		return replay(payload, func(v *finish) {
			if u := t.sessions[v.Session]; u != nil {
				u.Finished = v.Reason
			}
		})
	case recModel:
		return replay(payload, func(v *modelRecord) { t.models[v.ID] = newModel(*v) })
	case recMade:
		return replay(payload, func(v *madeRecord) {
			if m := t.models[v.ID]; m != nil {
				m.wasMade = true
			}
		})
	case recReject:
		return replay(payload, func(v *rejection) { t.addReject(*v) })
	case recSampler:
		return replay(payload, t.addSampler)
	case recDropped:
		return replay(payload, func(v *samplerKey) { t.dropSampler(v.ID) })
	case recCheckpoint:
		return replay(payload, func(v *checkpointSettings) { t.addMark(*v) })
	case recSample:
		return replay(payload, func(v *sampleRecord) { t.samples[sampleKey{v.Sampler, v.Seq}] = newSample(*v) })
	case recStability:
		return replay(payload, t.addRecording)
	case recResult:
		return replay(payload, func(v *sampleResult) {
			p := t.samples[sampleKey{v.Sampler, v.Seq}]
			if p == nil || !p.finished.IsZero() {
				return
			}
			p.finish(*v)
			if w := t.samplers[v.Sampler]; w != nil {
				w.ended(p)
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

// record appends v to the log; the store is locked, so that the log has the order of the state's changes. The caller
// must sync up to the returned position before it answers a client.
func (t *store) record(kind byte, v any) (int64, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return 0, fmt.Errorf("server: %w", err)
	}
	return t.log.Append(kind, raw)
}

// change runs f under the lock and makes its records durable. If the request was recorded before (at is 0), change
// waits too, since that record may not be on the disk yet.
func (t *store) change(f func(t *store) (at int64, err error)) error {
	t.Lock()
	at, err := f(t)
	if at == 0 {
		at = t.log.End()
	}
	t.Unlock()
	if err != nil {
		return err
	}
	return t.log.Sync(at)
}

// compact rewrites the log without obsolete records; the store is locked.
func (t *store) compact() error {
	return t.log.Rewrite(func(add func(byte, []byte) error) (err error) {
		put := func(kind byte, v any) {
			raw, bad := json.Marshal(v)
			if bad == nil {
				bad = add(kind, raw)
			}
			err = errors.Join(err, bad)
		}
		for _, id := range slices.Sorted(maps.Keys(t.sessions)) {
			put(recSession, t.sessions[id])
		}
		for _, m := range t.modelsInOrder() {
			put(recModel, m.modelRecord)
			if m.wasMade {
				put(recMade, madeRecord{m.ID})
			}
		}
		for _, tenant := range slices.Sorted(maps.Keys(t.byTenant)) {
			for _, key := range t.byTenant[tenant] {
				put(recReject, t.rejects[key])
			}
		}
		for _, list := range t.gaps {
			for _, r := range list {
				put(recReject, r)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(t.samplers)) {
			put(recSampler, t.samplers[id])
		}
		for _, marks := range t.marks {
			for _, m := range marks {
				put(recCheckpoint, m)
			}
		}
		for _, r := range t.recorded.of {
			put(recStability, r)
		}
		for _, p := range t.samples {
			put(recSample, p.sampleRecord)
			if !p.finished.IsZero() {
				put(recResult, p.result)
			}
		}
		return err
	})
}

func (t *store) modelsInOrder() []*model {
	list := slices.Collect(maps.Values(t.models))
	slices.SortFunc(list, func(a, b *model) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// maxRejects limits the rejected requests that are kept of a tenant; their texts are limited too.
const maxRejects = 8192

// addReject keeps a rejected request. It forgets the tenant's oldest ones beyond maxRejects: the backend still knows
// that their numbers are used.
func (t *store) addReject(r rejection) {
	r.Error = tinker.BriefText(r.Error) // an older version kept all of it
	if r.To != 0 {
		t.gaps[r.Model] = append(t.gaps[r.Model], r)
		return
	}
	key, tenant := trainKey{r.Model, r.Seq}, ""
	if m := t.models[r.Model]; m != nil && t.sessions[m.Session] != nil {
		tenant = t.sessions[m.Session].Tenant
	}
	if _, again := t.rejects[key]; !again {
		t.byTenant[tenant] = append(t.byTenant[tenant], key)
	}
	t.rejects[key] = r
	if old := t.byTenant[tenant]; len(old) > maxRejects {
		delete(t.rejects, old[0])
		t.byTenant[tenant] = old[1:]
	}
}

func (t *store) addMark(m checkpointSettings) {
	if t.marks[m.Path] == nil {
		t.marks[m.Path] = map[int64]checkpointSettings{}
	}
	t.marks[m.Path][m.Seq] = m
}

// stopTimers ends the wait for missing numbers.
func (t *store) stopTimers() {
	t.Lock()
	defer t.Unlock()
	for _, m := range t.models {
		if m.gap != nil {
			m.gap.Stop()
		}
	}
}
