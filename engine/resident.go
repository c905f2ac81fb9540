package engine

import (
	"runtime/debug"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Base weights are read when a training run, a sampling client or a request needs them. They leave memory when nothing
// has used them for memory.idle, or earlier when other weights need the memory, the least recently used first. Weights
// that something uses never leave. The next use reads them again, to the same bits.

// resident is what base weights take in memory; memory.mu guards it.
type resident struct {
	version *version // of the untouched weights; nil while they are not in memory or being read
	bytes   int64    // 0: not in memory
	users   int      // training runs, sampling clients and requests
	owners  []string // tenants that have used them since they are in memory
	used    time.Time
	timer   *time.Timer // ends the idle time; nil before the first
	parent  *base       // whose weights these share; nil: none
}

// open adds a base model, without a name for requests.
func (m *memory) open(name string, from Model) (*base, error) {
	b, err := newBase(name, from, m.cacheBytes)
	if err != nil {
		return nil, err
	}
	m.know(b)
	return b, nil
}

// know adds a base model.
func (m *memory) know(b *base) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bases = append(m.bases, b)
}

// enter adds a user to a base model, whose weights then stay in memory.
func (m *memory) enter(b *base) *memoryUse {
	m.mu.Lock()
	defer m.mu.Unlock()
	b.users++
	b.used = time.Now()
	return &memoryUse{release: func() { m.mu.Lock(); defer m.mu.Unlock(); m.leave(b) }}
}

// usedBy notes whose the user is that enter added.
func (m *memory) usedBy(b *base, owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(b.owners, owner) {
		b.owners = append(b.owners, owner)
	}
}

// touch notes a use of a base model that has users.
func (m *memory) touch(b *base) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b.used = time.Now()
}

// leave removes a user of a base model; m.mu is held.
func (m *memory) leave(b *base) {
	b.users--
	m.wait(b)
}

// wait sets the timer of a base model without users; m.mu is held.
func (m *memory) wait(b *base) {
	if b.users > 0 || m.idle <= 0 || m.ended {
		return
	}
	wait := max(0, m.idle-time.Since(b.used))
	if b.timer == nil {
		b.timer = time.AfterFunc(wait, func() { m.expire(b) })
	} else {
		b.timer.Reset(wait)
	}
}

// expire unloads a base model whose idle time is over.
func (m *memory) expire(b *base) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case b.users > 0 || m.ended:
	case time.Since(b.used) < m.idle: // it was used meanwhile
		m.wait(b)
	default:
		m.drop(b)
	}
}

// unload unloads a base model at once and reports whether it is out of memory. It stays while something uses it, and if
// another owner has used it.
func (m *memory) unload(b *base, owner string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	others := slices.ContainsFunc(b.owners, func(o string) bool { return o != owner })
	if b.users == 0 && !others {
		m.drop(b)
	}
	return b.bytes == 0
}

// drop forgets the weights and KV pages of a base model without users; m.mu is held.
func (m *memory) drop(b *base) {
	b.kv.clear()
	if b.bytes == 0 {
		return
	}
	b.version, b.bytes, b.owners = nil, 0, nil
	if b.parent != nil {
		m.leave(b.parent)
		b.parent = nil
	}
	m.reclaim(b)
}

// admit accounts for n bytes of base weights that are about to be read, for which idle ones leave. If that is not
// enough, the error wraps tinker.ErrBusy unless they are promised.
func (m *memory) admit(b *base, n int64, promised bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.makeRoom(n)
	if further := m.further(n, false); !promised && m.total > 0 && further > 0 && m.used+further > m.total {
		return m.crowded(b, n)
	}
	b.bytes = n
	return nil
}

// roomForBase returns an error that wraps tinker.ErrBusy if n bytes of base weights that are not in memory do not fit.
func (m *memory) roomForBase(b *base, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b.bytes > 0 || m.total == 0 {
		return nil
	}
	if further := m.further(n, true); further > 0 && m.used+further > m.total {
		return m.crowded(b, n)
	}
	return nil
}

func (m *memory) crowded(b *base, n int64) error {
	return tinker.Serverf("engine: the weights of base model %q take %s beside those of others that are in use; "+
		"training runs, samplers and base models beyond the largest may have %s (--memory): wait until others are "+
		"idle: %w", b.name, mib(n), mib(m.total), tinker.ErrBusy)
}

// settle notes the weights that were read after admit, or with nil that they were not.
func (m *memory) settle(b *base, v *version, parent *base) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b.version, b.parent = v, parent
	if v == nil {
		b.bytes = 0
	}
}

// loaded is the version in memory; nil if there is none.
func (m *memory) loaded(b *base) *version {
	m.mu.Lock()
	defer m.mu.Unlock()
	return b.version
}

// until is when a base model in memory leaves it if nothing uses it from now on; zero is never. there is false if it
// is not in memory.
func (m *memory) until(b *base) (at time.Time, there bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b.version == nil || m.idle <= 0 {
		return time.Time{}, b.version != nil
	}
	if b.users > 0 {
		return time.Now().Add(m.idle), true
	}
	return b.used.Add(m.idle), true
}

// further is the bytes of base weights in memory beyond the largest, with more of them; held counts only those in use.
// One base model is always allowed, however large it is. m.mu is held.
func (m *memory) further(more int64, held bool) int64 {
	sum, largest := more, more
	for _, b := range m.bases {
		if !held || b.users > 0 {
			sum, largest = sum+b.bytes, max(largest, b.bytes)
		}
	}
	return sum - largest
}

// makeRoom unloads idle base models, the least recently used first, until the rest fits with more bytes of base
// weights; m.mu is held.
func (m *memory) makeRoom(more int64) {
	for m.total > 0 {
		further := m.further(more, false)
		if further == 0 || m.used+further <= m.total {
			return
		}
		var oldest *base
		for _, b := range m.bases {
			if b.bytes > 0 && b.users == 0 && (oldest == nil || b.used.Before(oldest.used)) {
				oldest = b
			}
		}
		if oldest == nil {
			return
		}
		m.drop(oldest)
	}
}

// end stops the timers.
func (m *memory) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	for _, b := range m.bases {
		if b.timer != nil {
			b.timer.Stop()
		}
	}
}

// reclaim returns the memory of unloaded weights to the system: it is unmapped when the collector finds it unreachable.
func (m *memory) reclaim(b *base) {
	go func() {
		m.log.Info("base model left memory", "model", b.name)
		debug.FreeOSMemory()
	}()
}

// inMemory is the bytes of the base weights in memory, computed from their shapes.
func (m *memory) inMemory() (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.bases {
		n += b.bytes
	}
	return n
}
