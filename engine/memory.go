package engine

import (
	"sync"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// memory accounts for what training runs and the weights of samplers take, by owner and by name, within a budget. One
// owner may take three quarters of it; beyond, an owner still gets up to an eighth, so that one who comes to a server
// that others fill finds room. What is accounted for is reckoned from shapes, before it is allocated. Base weights,
// KV pages and activations are not part of it: their bounds are those of Options. Its methods may be called at the
// same time.
type memory struct {
	total int64 // 0 is no bound

	mu     sync.Mutex
	used   int64
	owners map[string]int64
	parts  map[string]holding
}

// holding is what one run or one version of a sampler's weights takes.
type holding struct {
	owner string
	bytes int64
	users int // of a version: sampling clients
}

// most is what one owner may have when it is alone.
func (m *memory) most() int64 { return m.total / 4 * 3 }

// room returns an error if an owner's n bytes do not fit: a User error if they never will, else one that wraps
// tinker.ErrBusy.
func (m *memory) room(owner, what string, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.full(owner, what, n)
}

// full is room; m.mu is held.
func (m *memory) full(owner, what string, n int64) error {
	own, reserved := m.owners[owner], m.total/8
	switch {
	case m.total == 0:
		return nil
	case n > m.most():
		return tinker.Userf("engine: %s takes %s; one tenant may have %s of the %s for training runs and samplers: "+
			"take a lower rank or train fewer modules, or serve with more --memory",
			what, mib(n), mib(m.most()), mib(m.total))
	case m.used+n <= m.most() || m.used+n <= m.total && own+n <= reserved:
		return nil
	}
	return tinker.Serverf("engine: %s takes %s; training runs and samplers have %s of %s, %s of them yours: "+
		"unload a model (unload_model) or wait until others end: %w",
		what, mib(n), mib(m.used), mib(m.total), mib(own), tinker.ErrBusy)
}

// take accounts for n bytes of a name that is not accounted for, whether they fit or not: what was accepted before
// must be taken.
func (m *memory) take(owner, name string, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(owner, name, n)
}

// reserve accounts for n bytes of a name that is not accounted for, if they fit.
func (m *memory) reserve(owner, name, what string, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.full(owner, what, n); err != nil {
		return err
	}
	m.add(owner, name, n)
	return nil
}

// add accounts for a name; m.mu is held.
func (m *memory) add(owner, name string, n int64) {
	if m.parts == nil {
		m.parts, m.owners = map[string]holding{}, map[string]int64{}
	}
	m.parts[name] = holding{owner: owner, bytes: n, users: 1}
	m.used += n
	m.owners[owner] += n
}

// share is reserve for what several users have together: it is accounted for once, to the first.
func (m *memory) share(owner, name, what string, n int64) error {
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

// release takes one user of a name away, and with the last one the name. An unknown name is none.
func (m *memory) release(name string) {
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

// now is what is accounted for, of all and of one owner.
func (m *memory) now(owner string) (used, own int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, m.owners[owner]
}
