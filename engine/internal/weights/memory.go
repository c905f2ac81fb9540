// Package weights has the base models and the versions of weights that training and sampling compute with. It reads
// base weights when something needs them, keeps them while something uses them, and accounts for the memory of all
// versions and training runs.
package weights

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Memory has the base models, reads their weights, and accounts for these and for the memory of training runs and
// samplers' weights, by tenant and by name, within a budget. One tenant may use three quarters of the budget. When
// others have filled it, a tenant may still use up to an eighth, so that a new tenant finds room. Base weights beyond
// those of the largest base model reduce the budget (resident.go). Sizes are estimated from shapes before anything is
// allocated. KV pages and activations are not included: Options limits them. The methods are safe for concurrent use.
type Memory struct {
	Options
	named    map[string]*Base // the base models that requests name
	versions atomic.Uint64    // the last id given to weights

	mu     sync.Mutex
	bases  []*Base
	used   int64
	owners map[string]int64
	parts  map[string]allocation
	ended  bool
}

// Options configure a memory.
type Options struct {
	Compute    nn.Compute
	Total      int64         // bytes; 0 is no limit
	Idle       time.Duration // after which unused base weights leave; 0 is never
	CacheBytes int64         // KV pages of each base model
	Frozen     string        // model.Config.Frozen of base models
	Log        *slog.Logger
}

func New(o Options) *Memory { return &Memory{Options: o, named: map[string]*Base{}} }

// Hold is a reservation of memory, which ends once; nil is none.
type Hold struct {
	once    sync.Once
	release func()
}

// And is a reservation that ends with u and before it with v.
func (u *Hold) And(v *Hold) *Hold {
	return &Hold{release: func() { v.End(); u.End() }}
}

func (u *Hold) End() {
	if u != nil {
		u.once.Do(u.release)
	}
}

// allocation is the memory of one training run or of one version of a sampler's weights.
type allocation struct {
	owner string
	bytes int64
	users int // of a version: sampling clients
}

// most is the limit of a tenant that is alone.
func (m *Memory) most() int64 { return m.Total / 4 * 3 }

// room returns an error if n more bytes of a tenant do not fit: a User error if they never will, otherwise one that
// wraps tinker.ErrBusy.
func (m *Memory) room(owner, what string, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.full(owner, what, n)
}

// full is room; m.mu is held.
func (m *Memory) full(owner, what string, n int64) error {
	own, limit := m.owners[owner], m.Total-m.further(0, true)
	switch {
	case m.Total == 0:
		return nil
	case n > m.most():
		return tinker.Userf("engine: %s takes %s; one tenant may have %s of the %s for training runs and samplers: "+
			"take a lower rank or train fewer modules, or serve with more --memory",
			what, mib(n), mib(m.most()), mib(m.Total))
	case m.used+n <= limit/4*3 || m.used+n <= limit && own+n <= limit/8:
		return nil
	}
	return tinker.Serverf("engine: %s takes %s; training runs and samplers have %s of %s, %s of them yours: "+
		"unload a model (unload_model) or wait until others end: %w",
		what, mib(n), mib(m.used), mib(m.Total), mib(own), tinker.ErrBusy)
}

// take accounts for n bytes under a new name whether they fit or not: an accepted request must be executed.
func (m *Memory) take(owner, name string, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(owner, name, n)
}

// reserve accounts for n bytes under a new name, if they fit.
func (m *Memory) reserve(owner, name, what string, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.full(owner, what, n); err != nil {
		return err
	}
	m.add(owner, name, n)
	return nil
}

// add accounts for a name; m.mu is held.
func (m *Memory) add(owner, name string, n int64) {
	if m.parts == nil {
		m.parts, m.owners = map[string]allocation{}, map[string]int64{}
	}
	m.parts[name] = allocation{owner: owner, bytes: n, users: 1}
	m.used += n
	m.owners[owner] += n
	m.makeRoom(0)
}

// share is reserve for memory that several users share: it is accounted for once, to the first.
func (m *Memory) share(owner, name, what string, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h, ok := m.parts[name]; ok {
		h.users++
		m.parts[name] = h
		return nil
	}
	if err := m.full(owner, what, n); err != nil {
		return err
	}
	m.add(owner, name, n)
	return nil
}

// Release removes one user of a name, and the name with its last user. Unknown names are ignored.
func (m *Memory) Release(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, ok := m.parts[name]
	if !ok {
		return
	}
	if h.users--; h.users > 0 {
		m.parts[name] = h
		return
	}
	delete(m.parts, name)
	m.used -= h.bytes
	if m.owners[h.owner] -= h.bytes; m.owners[h.owner] == 0 {
		delete(m.owners, h.owner)
	}
}

// Now is the memory accounted for, of all tenants and of one.
func (m *Memory) Now(owner string) (used, own int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, m.owners[owner]
}

// Keep accounts for the weights of a version, once for all its users.
func (m *Memory) Keep(v *Version, owner, what string) (*Hold, error) {
	name := fmt.Sprintf("version %d", v.ID)
	if err := m.share(owner, name, what, v.bytes()); err != nil {
		return nil, err
	}
	return &Hold{release: func() { m.Release(name) }}, nil
}

// mib writes bytes for a reader.
func mib(n int64) string {
	if n < 10<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
