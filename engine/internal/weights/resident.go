package weights

import (
	"runtime/debug"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Base weights are read when a training run, a sampling client or a request needs them. They leave memory when nothing
// has used them for memory.idle, or earlier when other weights need the memory, the least recently used first. Weights
// that something uses never leave. The next use reads them again, to the same bits.

// resident is the state of base weights in memory; memory.mu guards it.
type resident struct {
	version *Version // of the untouched weights; nil while they are not in memory or being read
	bytes   int64    // 0: not in memory
	users   int      // training runs, sampling clients and requests
	owners  []string // tenants that have used them since they are in memory
	used    time.Time
	timer   *time.Timer // ends the idle time; nil before the first
	parent  *Base       // whose weights these share; nil: none
}

// Open adds a base model, without a name for requests.
func (m *Memory) Open(name string, from Model) (*Base, error) {
	b, err := newBase(name, from, m.CacheBytes, m.Frozen)
	if err != nil {
		return nil, err
	}
	m.know(b)
	return b, nil
}

// know adds a base model.
func (m *Memory) know(b *Base) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bases = append(m.bases, b)
}

// Enter adds a user to a base model, whose weights then stay in memory.
func (m *Memory) Enter(b *Base) *Hold {
	m.mu.Lock()
	defer m.mu.Unlock()
	b.users++
	b.used = time.Now()
	return &Hold{release: func() { m.mu.Lock(); defer m.mu.Unlock(); m.leave(b) }}
}

// UsedBy notes whose the user is that enter added.
func (m *Memory) UsedBy(b *Base, owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(b.owners, owner) {
		b.owners = append(b.owners, owner)
	}
}

// Touch notes a use of a base model that has users.
func (m *Memory) Touch(b *Base) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b.used = time.Now()
}

// leave removes a user of a base model; m.mu is held.
func (m *Memory) leave(b *Base) {
	b.users--
	m.wait(b)
}

// wait sets the timer of a base model without users; m.mu is held.
func (m *Memory) wait(b *Base) {
	if b.users > 0 || m.Idle <= 0 || m.ended {
		return
	}
	wait := max(0, m.Idle-time.Since(b.used))
	if b.timer == nil {
		b.timer = time.AfterFunc(wait, func() { m.expire(b) })
	} else {
		b.timer.Reset(wait)
	}
}

// expire unloads a base model whose idle time is over.
func (m *Memory) expire(b *Base) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case b.users > 0 || m.ended:
	case time.Since(b.used) < m.Idle: // it was used meanwhile
		m.wait(b)
	default:
		m.drop(b)
	}
}

// Unload unloads a base model at once and reports whether it is out of memory. It stays while something uses it, and if
// another owner has used it.
func (m *Memory) Unload(b *Base, owner string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	others := slices.ContainsFunc(b.owners, func(o string) bool { return o != owner })
	if b.users == 0 && !others {
		m.drop(b)
	}
	return b.bytes == 0
}

// drop forgets the weights and KV pages of a base model without users; m.mu is held.
func (m *Memory) drop(b *Base) {
	b.KV.clear()
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
func (m *Memory) admit(b *Base, n int64, promised bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.makeRoom(n)
	if further := m.further(n, false); !promised && m.Total > 0 && further > 0 && m.used+further > m.Total {
		return m.crowded(b, n)
	}
	b.bytes = n
	return nil
}

// roomForBase returns an error that wraps tinker.ErrBusy if n bytes of base weights that are not in memory do not fit.
func (m *Memory) roomForBase(b *Base, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b.bytes > 0 || m.Total == 0 {
		return nil
	}
	if further := m.further(n, true); further > 0 && m.used+further > m.Total {
		return m.crowded(b, n)
	}
	return nil
}

func (m *Memory) crowded(b *Base, n int64) error {
	return tinker.Serverf("engine: the weights of base model %q take %s beside those of others that are in use; "+
		"training runs, samplers and base models beyond the largest may have %s (--memory): wait until others are "+
		"idle: %w", b.Name, mib(n), mib(m.Total), tinker.ErrBusy)
}

// settle notes the weights that were read after admit, or with nil that they were not.
func (m *Memory) settle(b *Base, v *Version, parent *Base) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b.version, b.parent = v, parent
	if v == nil {
		b.bytes = 0
	}
}

// loaded is the version in memory; nil if there is none.
func (m *Memory) loaded(b *Base) *Version {
	m.mu.Lock()
	defer m.mu.Unlock()
	return b.version
}

// Until is when a base model in memory leaves it if nothing uses it from now on; zero is never. there is false if it
// is not in memory.
func (m *Memory) Until(b *Base) (at time.Time, there bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b.version == nil || m.Idle <= 0 {
		return time.Time{}, b.version != nil
	}
	if b.users > 0 {
		return time.Now().Add(m.Idle), true
	}
	return b.used.Add(m.Idle), true
}

// further is the bytes of base weights in memory beyond the largest, with more of them; held counts only those in use.
// One base model is always allowed, however large it is. m.mu is held.
func (m *Memory) further(more int64, held bool) int64 {
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
func (m *Memory) makeRoom(more int64) {
	for m.Total > 0 {
		further := m.further(more, false)
		if further == 0 || m.used+further <= m.Total {
			return
		}
		var oldest *Base
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

// End stops the timers.
func (m *Memory) End() {
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
func (m *Memory) reclaim(b *Base) {
	go func() {
		m.Log.Info("base model left memory", "model", b.Name)
		debug.FreeOSMemory()
	}()
}

// InMemory is the bytes of the base weights in memory, computed from their shapes.
func (m *Memory) InMemory() (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.bases {
		n += b.bytes
	}
	return n
}
