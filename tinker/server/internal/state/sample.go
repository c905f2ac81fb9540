package state

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// SampleRecord is an accepted request with the seed drawn for it.
type SampleRecord struct {
	Sampler  string          `json:"sampler"`
	Seq      int64           `json:"seq"`
	Hash     [32]byte        `json:"hash"` // of the received request
	Seed     uint64          `json:"seed"`
	Accepted time.Time       `json:"accepted"`
	Request  json.RawMessage `json:"request,omitempty"` // nil once it is finished
	Samples  int             `json:"samples"`
	Recorded bool            `json:"recorded,omitempty"` // its stability information is kept
	// Versions, of an in-flight sampler, are the weights that drew each sample so far: drawn again, it has them again.
	Versions [][]tinker.Version `json:"versions,omitempty"`
}

// VersionRecord says that one sample of a request is drawn with other weights from a token on.
type VersionRecord struct {
	Sampler string `json:"sampler"`
	Seq     int64  `json:"seq"`
	Sample  int    `json:"sample"`
	tinker.Version
}

// AddVersion notes weights, unless it has noted them before. The store is locked, or the log is being read.
func (p *Sample) AddVersion(r VersionRecord) (fresh bool) {
	for len(p.Versions) <= r.Sample {
		p.Versions = append(p.Versions, nil)
	}
	list := &p.Versions[r.Sample]
	if n := len(*list); n > 0 && (*list)[n-1].From >= r.From {
		return false
	}
	*list = append(*list, r.Version)
	return true
}

// SampleResult is the outcome: Proto, or an error.
type SampleResult struct {
	Sampler  string          `json:"sampler"`
	Seq      int64           `json:"seq"`
	Time     time.Time       `json:"time"`
	Proto    []byte          `json:"proto,omitempty"` // wire.EncodeSample
	Error    string          `json:"error,omitempty"`
	Category tinker.Category `json:"category,omitempty"`
	Order    int64           `json:"order,omitempty"` // the number of this end among the sampler's
}

// Sample is one asample request.
type Sample struct {
	SampleRecord
	Raw      []byte // Request, while it runs
	Tenant   string // whose quota is charged
	Size     int64  // bytes of the quota
	Done     chan struct{}
	Result   SampleResult // once done
	Finished time.Time
	Fetched  time.Time // zero: not fetched yet
	Cancel   context.CancelFunc
}

func NewSample(r SampleRecord) *Sample {
	return &Sample{SampleRecord: r, Raw: r.Request, Done: make(chan struct{})}
}

// Finish records the result; the store is locked, or the log is being read.
func (p *Sample) Finish(r SampleResult) {
	p.Result, p.Finished, p.Raw, p.Request, p.Versions = r, r.Time, nil, nil, nil
	close(p.Done)
}

// keptResults is the finished samples of one tenant whose results are in memory.
type keptResults struct {
	order []*Sample // in order of completion; some may be forgotten
	Live  int       // number of those not forgotten
	Bytes int64
}

// Keep adds a result and forgets the tenant's oldest ones beyond that many bytes, never the newest. A client that asks
// for a forgotten one gets gone and samples again. The store is locked.
func (t *Store) Keep(p *Sample, most int64) {
	k := t.Kept[p.Tenant]
	if k == nil {
		k = &keptResults{}
		t.Kept[p.Tenant] = k
	}
	k.order, k.Live, k.Bytes = append(k.order, p), k.Live+1, k.Bytes+p.kept()
	for k.Live > 1 && k.Bytes > most {
		t.Forget(k.order[0])
		k.order = k.order[1:]
	}
}

// kept is the memory of a finished sample in bytes.
func (p *Sample) kept() int64 { return int64(len(p.Result.Proto)+len(p.Result.Error)) + 512 }

func (p *Sample) key() SampleKey { return SampleKey{p.Sampler, p.Seq} }

// Forget drops a finished sample; it does nothing if the sample is forgotten already. The store is locked.
func (t *Store) Forget(p *Sample) {
	if t.Samples[p.key()] != p {
		return
	}
	delete(t.Samples, p.key())
	k := t.Kept[p.Tenant]
	if k == nil {
		return
	}
	if k.Live, k.Bytes = k.Live-1, k.Bytes-p.kept(); k.Live == 0 {
		delete(t.Kept, p.Tenant)
	}
}

// TidyKept releases the memory of forgotten samples; the store is locked.
func (t *Store) TidyKept() {
	for _, k := range t.Kept {
		k.order = slices.DeleteFunc(k.order, func(p *Sample) bool { return t.Samples[p.key()] != p })
	}
}
