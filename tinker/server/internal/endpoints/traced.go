package endpoints

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
)

// A program that names a session, in the URL (/sessions/{id}/v1/…, /rollouts/{id}/v1/…) or in the header X-Session-ID,
// has its calls recorded: prompt ids, sampled ids, logprobs and the name of the weights. The tenant reads them at
// GET /sessions/{id}/traces. Nothing else changes: the request's parameters count, and nothing is trained.

// sessionKey is the key of a session's id in a context.
type sessionKey struct{}

// longestSession is the length of a session's id in bytes.
const longestSession = 256

// withSession returns a context with the session that a request names, if it names one.
func withSession(ctx context.Context, r *http.Request) (context.Context, error) {
	id := r.PathValue("session")
	id = cmp.Or(id, r.Header.Get("X-Session-ID"))
	if len(id) > longestSession {
		return nil, edge.Status(http.StatusBadRequest, "the id of a session has %d bytes; at most %d are allowed",
			len(id), longestSession)
	}
	if id == "" {
		return ctx, nil
	}
	return context.WithValue(ctx, sessionKey{}, id), nil
}

// traces lists the recorded calls of a session, the oldest first.
func (s *Endpoints) traces(c *edge.Call) (any, error) {
	list, ok := s.traced.list(traceOwner{c.Tenant, c.R.PathValue("session")})
	if !ok {
		return nil, errNoSession
	}
	return list, nil
}

// forgetTraces drops the recorded calls of a session.
func (s *Endpoints) forgetTraces(c *edge.Call) (any, error) {
	id := c.R.PathValue("session")
	n, ok := s.traced.drop(traceOwner{c.Tenant, id})
	if !ok {
		return nil, errNoSession
	}
	return map[string]any{"session_id": id, "deleted": n}, nil
}

var errNoSession = edge.Status(http.StatusNotFound, "no calls are recorded for this session; calls are kept in "+
	"memory, for the sessions used last")

// tracer records the calls of one request. It implements endpoint.Keeper.
type tracer struct {
	s     *Endpoints
	of    traceOwner
	model string // as the request names it
	begun time.Time
}

// Prompt implements endpoint.Keeper: prompts are encoded as everywhere.
func (r *tracer) Prompt(text string, encode func(string) ([]int32, error)) ([]int32, error) {
	return encode(text)
}

// Params implements endpoint.Keeper: the request's parameters count.
func (r *tracer) Params(a *endpoint.Asked) ([]string, error) { return nil, a.OwnDistribution() }

// Record implements endpoint.Keeper.
func (r *tracer) Record(_ context.Context, k endpoint.Kept) error {
	took := r.s.Life.Now().Sub(r.begun)
	for i, q := range k.Sequences {
		t := endpoint.Trace{ID: k.ID, Session: r.of.session, Model: r.model, Messages: k.Messages, PromptIDs: k.Prompt,
			Message: k.Message(i), IDs: q.Tokens, Logprobs: q.Logprobs, Finish: string(q.StopReason)}
		r.s.traced.add(r.of, t.Finished(r.begun, took))
	}
	return nil
}

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
	most = cmp.Or(most, traceBytes)
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
