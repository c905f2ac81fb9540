package server

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// sampleRecord is an accepted request with the seed drawn for it.
type sampleRecord struct {
	Sampler  string          `json:"sampler"`
	Seq      int64           `json:"seq"`
	Hash     [32]byte        `json:"hash"` // of the received request
	Seed     uint64          `json:"seed"`
	Accepted time.Time       `json:"accepted"`
	Request  json.RawMessage `json:"request,omitempty"` // nil once it is finished
	Samples  int             `json:"samples"`
	Recorded bool            `json:"recorded,omitempty"` // its stability information is kept
}

// sampleResult is the outcome: Proto, or an error.
type sampleResult struct {
	Sampler  string          `json:"sampler"`
	Seq      int64           `json:"seq"`
	Time     time.Time       `json:"time"`
	Proto    []byte          `json:"proto,omitempty"` // wire.EncodeSample
	Error    string          `json:"error,omitempty"`
	Category tinker.Category `json:"category,omitempty"`
	Order    int64           `json:"order,omitempty"` // the number of this end among those of the sampler
}

// sample is one asample request.
type sample struct {
	sampleRecord
	raw      []byte // Request, while it runs
	tenant   string // charged in s.sampling
	size     int64  // bytes charged in s.sampling
	done     chan struct{}
	result   sampleResult // once done
	finished time.Time
	fetched  time.Time // zero: not fetched yet
	cancel   context.CancelFunc
}

func newSample(r sampleRecord) *sample {
	return &sample{sampleRecord: r, raw: r.Request, done: make(chan struct{})}
}

// finish records the result; the store is locked, or the log is being read.
func (p *sample) finish(r sampleResult) {
	p.result, p.finished, p.raw, p.Request = r, r.Time, nil, nil
	close(p.done)
}

// keptResults is the finished samples of one tenant whose results are in memory.
type keptResults struct {
	order []*sample // in order of completion; some may be forgotten
	live  int       // number of those not forgotten
	bytes int64
}

// keep adds a result and forgets the tenant's oldest ones beyond that many bytes, never the newest. A client that asks
// for a forgotten one gets gone and samples again. The store is locked.
func (t *store) keep(p *sample, most int64) {
	k := t.kept[p.tenant]
	if k == nil {
		k = &keptResults{}
		t.kept[p.tenant] = k
	}
	k.order, k.live, k.bytes = append(k.order, p), k.live+1, k.bytes+p.kept()
	for k.live > 1 && k.bytes > most {
		t.forget(k.order[0])
		k.order = k.order[1:]
	}
}

// kept is the memory of a finished sample in bytes.
func (p *sample) kept() int64 { return int64(len(p.result.Proto)+len(p.result.Error)) + 512 }

func (p *sample) key() sampleKey { return sampleKey{p.Sampler, p.Seq} }

// forget drops a finished sample; it does nothing if the sample is forgotten already. The store is locked.
func (t *store) forget(p *sample) {
	if t.samples[p.key()] != p {
		return
	}
	delete(t.samples, p.key())
	k := t.kept[p.tenant]
	if k == nil {
		return
	}
	if k.live, k.bytes = k.live-1, k.bytes-p.kept(); k.live == 0 {
		delete(t.kept, p.tenant)
	}
}

// tidyKept releases the memory of forgotten samples; the store is locked.
func (t *store) tidyKept() {
	for _, k := range t.kept {
		k.order = slices.DeleteFunc(k.order, func(p *sample) bool { return t.samples[p.key()] != p })
	}
}
