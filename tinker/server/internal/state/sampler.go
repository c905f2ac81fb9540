package state

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Sampler is a sampling session: weights that never change or, of an in-flight one, the latest of its training run.
type Sampler struct {
	ID        string    `json:"id"`
	Session   string    `json:"session"`
	BaseModel string    `json:"base_model"`
	Asked     string    `json:"asked,omitempty"`      // the base model's name in the request; older records lack it
	ModelPath string    `json:"model_path,omitempty"` // "" is the base model itself
	Unnamed   bool      `json:"unnamed,omitempty"`
	Created   time.Time `json:"created"`
	Copies    int64     `json:"copies,omitempty"` // clients that joined
	// Inflight is the number of the save that published the weights of an in-flight sampler; 0: it is none.
	Inflight int64 `json:"inflight,omitempty"`

	// Volatile.
	Saved  bool                  `json:"-"` // the weights of an in-flight sampler are on the disk
	Client tinker.SamplingClient `json:"-"` // nil until first use, and after eviction
	Used   time.Time             `json:"-"`
	Busy   int                   `json:"-"` // samples in progress
	ends   int64                 // number of the latest end of a sample
	Bytes  int64                 `json:"-"` // of an unnamed one on the disk, once that is known
	end    chan struct{}         // closed at the next end; nil without waiting calls
}

func SamplerID(session string, seq int64) string { return fmt.Sprintf("%s:sample:%d", session, seq) }

func (t *Store) AddSampler(p *Sampler) {
	p.Used, p.ends = p.Created, t.firstEnd
	if old := t.Samplers[p.ID]; old != nil { // a copy of its client has joined
		p.ends, p.Saved = old.ends, old.Saved
	}
	t.Samplers[p.ID] = p
	if p.Unnamed {
		t.Unnamed[p.ModelPath] = p.ID
	}
}

// TenantOf returns the tenant of a sampler, "" if there is no such sampler; the store is locked.
func (t *Store) TenantOf(id string) string {
	if p := t.Samplers[id]; p != nil && t.Sessions[p.Session] != nil {
		return t.Sessions[p.Session].Tenant
	}
	return ""
}

func (t *Store) DropSampler(id string) {
	if p := t.Samplers[id]; p != nil {
		p.Forget()
		delete(t.Unnamed, p.ModelPath)
		delete(t.Samplers, id)
	}
}

// OwnSampler returns a tenant's sampler. The store is locked.
func (t *Store) OwnSampler(tenant, id string) (*Sampler, error) {
	p := t.Samplers[id]
	if p == nil || t.Sessions[p.Session] == nil || t.Sessions[p.Session].Tenant != tenant {
		return nil, fmt.Errorf("sampling session %q: %w", id, tinker.ErrNotFound)
	}
	return p, nil
}

// Run is the training run of a sampler with a ModelPath.
func (p *Sampler) Run() string {
	path, _ := tinker.ParsePath(p.ModelPath) // it was made by a save
	return path.ModelID
}

// Latest is the in-flight sampler that an in-flight one has the weights of: the last one that was saved, or itself if
// it is newer. The store is locked.
func (t *Store) Latest(p *Sampler) *Sampler {
	run := p.Run()
	for _, q := range t.Samplers {
		if q.Saved && q.Inflight > p.Inflight && q.Run() == run {
			p = q
		}
	}
	return p
}

// Use notes that a sampler and its weights are used. The store is locked.
func (t *Store) Use(p *Sampler) {
	p.Used = t.now()
	if p.Inflight > 0 {
		t.Latest(p).Used = p.Used
	}
}

// Forget releases a sampler's weights; the store is locked, and no sample uses them.
func (p *Sampler) Forget() {
	CloseClient(p.Client)
	p.Client = nil
}

// CloseClient closes a client that has a Close method.
func CloseClient(c tinker.SamplingClient) {
	if c, ok := c.(io.Closer); ok {
		c.Close() // its memory is released even after an error
	}
}

// Changed is closed when the next sample of the sampler ends. The store is locked.
func (p *Sampler) Changed() <-chan struct{} {
	if p.end == nil {
		p.end = make(chan struct{})
	}
	return p.end
}

// Ended numbers the end of a sample, unless an earlier process has, and wakes the calls that wait for it. The store is
// locked.
func (p *Sampler) Ended(q *Sample) {
	q.Result.Order = cmp.Or(q.Result.Order, p.ends+1)
	p.ends = max(p.ends, q.Result.Order)
	if p.end != nil {
		close(p.end)
		p.end = nil
	}
}
