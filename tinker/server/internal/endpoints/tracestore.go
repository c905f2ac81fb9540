package endpoints

import (
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// traceBytes bounds the memory of all recorded calls.
const traceBytes = 256 << 20

// traceOwner names a recorded session.
type traceOwner struct{ tenant, session string }

// traceStore are the calls of sessions, in memory. When they exceed their bound, the tenant that holds the most loses
// the session that it used longest ago, as a whole. It is safe for concurrent use.
type traceStore struct {
	mu    sync.Mutex
	kept  map[traceOwner]*tracedSession
	held  map[string]int64 // bytes by tenant
	bytes int64
	used  uint64 // a clock of uses
	most  int64  // 0: traceBytes
}

// tracedSession is the calls of one session.
type tracedSession struct {
	list  []endpoint.Trace
	bytes int64
	used  uint64
}

// add records a call.
func (r *traceStore) add(of traceOwner, t endpoint.Trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept, r.held = map[traceOwner]*tracedSession{}, map[string]int64{}
	}
	one := r.kept[of]
	if one == nil {
		one = &tracedSession{}
		r.kept[of] = one
	}
	size := int64(1024 + len(t.Messages) + len(t.Message) + 4*len(t.PromptIDs) + 8*len(t.IDs))
	one.list = append(one.list, t)
	one.bytes += size
	r.held[of.tenant] += size
	r.bytes += size
	r.used++
	one.used = r.used
	most := r.most
	if most == 0 {
		most = traceBytes
	}
	for r.bytes > most {
		r.remove(r.victim())
	}
}

// victim is the session that makes room.
func (r *traceStore) victim() traceOwner {
	var tenant string
	for name, n := range r.held {
		if n > r.held[tenant] || n == r.held[tenant] && name < tenant {
			tenant = name
		}
	}
	var oldest traceOwner
	for of, one := range r.kept {
		if of.tenant == tenant && (oldest == traceOwner{} || one.used < r.kept[oldest].used) {
			oldest = of
		}
	}
	return oldest
}

func (r *traceStore) remove(of traceOwner) int {
	one := r.kept[of]
	delete(r.kept, of)
	r.bytes -= one.bytes
	if r.held[of.tenant] -= one.bytes; r.held[of.tenant] == 0 {
		delete(r.held, of.tenant)
	}
	return len(one.list)
}

// list returns the calls of a session, and false if there are none.
func (r *traceStore) list(of traceOwner) ([]endpoint.Trace, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.kept[of]
	if one == nil {
		return nil, false
	}
	r.used++
	one.used = r.used
	return slices.Clone(one.list), true
}

// drop forgets a session and returns how many calls it had.
func (r *traceStore) drop(of traceOwner) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept[of] == nil {
		return 0, false
	}
	return r.remove(of), true
}
