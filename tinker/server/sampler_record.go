package server

import (
	"fmt"
	"io"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// sampler is a sampling session: weights that never change.
type sampler struct {
	ID        string    `json:"id"`
	Session   string    `json:"session"`
	BaseModel string    `json:"base_model"`
	Asked     string    `json:"asked,omitempty"`      // the base model's name in the request; older records lack it
	ModelPath string    `json:"model_path,omitempty"` // "" is the base model itself
	Unnamed   bool      `json:"unnamed,omitempty"`
	Created   time.Time `json:"created"`
	Copies    int64     `json:"copies,omitempty"` // clients that joined

	// Volatile.
	client tinker.SamplingClient // nil until first use, and after eviction
	used   time.Time
	busy   int           // samples in progress
	ends   int64         // number of the latest end of a sample
	bytes  int64         // of an unnamed one on the disk, once that is known
	end    chan struct{} // closed at the next end; nil without waiting calls
}

func samplerID(session string, seq int64) string { return fmt.Sprintf("%s:sample:%d", session, seq) }

func (t *store) addSampler(p *sampler) {
	p.used, p.ends = p.Created, t.firstEnd
	if old := t.samplers[p.ID]; old != nil { // a copy of its client has joined
		p.ends = old.ends
	}
	t.samplers[p.ID] = p
	if p.Unnamed {
		t.unnamed[p.ModelPath] = p.ID
	}
}

// tenantOf returns the tenant of a sampler, "" if there is no such sampler; the store is locked.
func (t *store) tenantOf(id string) string {
	if p := t.samplers[id]; p != nil && t.sessions[p.Session] != nil {
		return t.sessions[p.Session].Tenant
	}
	return ""
}

func (t *store) dropSampler(id string) {
	if p := t.samplers[id]; p != nil {
		p.forget()
		delete(t.unnamed, p.ModelPath)
		delete(t.samplers, id)
	}
}

// ownSampler returns a tenant's sampler. The store is locked.
func (t *store) ownSampler(tenant, id string) (*sampler, error) {
	p := t.samplers[id]
	if p == nil || t.sessions[p.Session] == nil || t.sessions[p.Session].Tenant != tenant {
		return nil, fmt.Errorf("sampling session %q: %w", id, tinker.ErrNotFound)
	}
	return p, nil
}

// forget releases a sampler's weights; the store is locked, and no sample uses them.
func (p *sampler) forget() {
	closeClient(p.client)
	p.client = nil
}

// closeClient closes a client that has a Close method.
func closeClient(c tinker.SamplingClient) {
	if c, ok := c.(io.Closer); ok {
		c.Close() // its memory is released even after an error
	}
}

// changed is closed when the next sample of the sampler ends. The store is locked.
func (p *sampler) changed() <-chan struct{} {
	if p.end == nil {
		p.end = make(chan struct{})
	}
	return p.end
}

// ended numbers the end of a sample, unless an earlier process has, and wakes the calls that wait for it. The store is
// locked.
func (p *sampler) ended(q *sample) {
	if q.result.Order == 0 {
		q.result.Order = p.ends + 1
	}
	p.ends = max(p.ends, q.result.Order)
	if p.end != nil {
		close(p.end)
		p.end = nil
	}
}
