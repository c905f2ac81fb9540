// Package capacity decides whether there is room for new work: in the queues, divided among tenants, in the engine and
// on the disk.
package capacity

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
)

// Queues limit pending work, and new work while the disk fills up. Zero values mean their defaults.
type Queues struct {
	// pending asample requests; default 8192. One tenant gets at most half of this and of the next three limits
	MaxSamples     int
	MaxSampleBytes int64 // bytes of those requests; default 256 MiB
	MaxQueuedBytes int64 // bytes of pending training requests; default 2 GiB
	MaxListening   int   // calls that wait for a result; default 16384
	// pending samples above which waiting clients are told that the server is full; default 256
	Crowd int
	// bytes of disk below which nothing new is accepted; default 256 MiB, negative is no minimum
	MinFree int64
	Free    func() (int64, error) // returns the free bytes on the data's disk; nil does not check
}

// Capacity says whether there is room for new work: in the queues, in the engine and on the disk.
type Capacity struct {
	Training  *Quota // pending training requests
	Sampling  *Quota // unfinished samples
	Listening *Quota // calls that wait for a result

	Limits Queues
	life   *life.Life
	dir    string
	heal   func() error // makes the logs writable again; nil if they are
	engine tinker.Bounded
	full   func() // counts a request that is refused for now

	mu   sync.Mutex
	free int64 // bytes of disk, when it was measured last
	At   time.Time
}

// New returns the capacity of a server whose data are in dir. engine may be nil.
func New(o Queues, l *life.Life, dir string, heal func() error, engine tinker.Bounded, full func()) *Capacity {
	edge.Default(&o.MaxSamples, 8192)
	edge.Default(&o.MaxSampleBytes, 256<<20)
	edge.Default(&o.MaxQueuedBytes, 2<<30)
	edge.Default(&o.MaxListening, 1<<14)
	edge.Default(&o.Crowd, 256)
	o.MinFree = cmp.Or(o.MinFree, 256<<20)
	return &Capacity{
		Training:  NewQuota("training requests", math.MaxInt32, o.MaxQueuedBytes), // package engine bounds their number
		Sampling:  NewQuota("samples", o.MaxSamples, o.MaxSampleBytes),
		Listening: NewQuota("calls", o.MaxListening, math.MaxInt64/2),
		Limits:    o, life: l, dir: dir, heal: heal, engine: engine, full: full}
}

// Queue refuses a request of that many tokens and bytes while the queue of its kind is full.
func (c *Capacity) Queue(work tinker.Work, tenant string, tokens int, bytes int64) error {
	q := c.Training
	if work == tinker.Sampling {
		q = c.Sampling
	}
	err := q.room(tenant, bytes)
	if err == nil && c.engine != nil {
		err = c.engine.Room(work, tenant, tokens)
	}
	if err != nil {
		c.full()
	}
	return err
}

// Listen counts a call that waits for a result against its tenant's limit until leave is called.
func (c *Capacity) Listen(tenant string) (leave func(), err error) {
	if err := c.Listening.Try(tenant, 0); err != nil {
		c.full()
		return nil, err
	}
	return func() { c.Listening.Release(tenant, 0) }, nil
}

// Crowded says why samples of a tenant take long, if many are in progress; else it is "".
func (c *Capacity) Crowded(tenant string) string {
	all, own := c.Sampling.Now(tenant)
	if all.Requests <= c.Limits.Crowd {
		return ""
	}
	return fmt.Sprintf("%d sample requests are under way on this server, %d of them yours", all.Requests, own.Requests)
}

// Writable returns nil when accepted requests can be made durable. After a failed write it tries again, so that the
// server continues when there is space again.
func (c *Capacity) Writable() error {
	err := c.heal()
	if err == nil {
		return nil
	}
	c.life.Log.Error("the data folder cannot be written", "error", err)
	return edge.Unwritable(err)
}

// lookEvery limits how often the disk is measured.
const lookEvery = time.Second

// Disk refuses new work while the disk is nearly full, to keep space for accepted work.
func (c *Capacity) Disk() error {
	if c.life.Closing() {
		return edge.StatusAfter(http.StatusServiceUnavailable,
			errors.New("the server is closing; it continues after its next start"), time.Second)
	}
	if err := c.Writable(); err != nil {
		return edge.StatusAfter(http.StatusInsufficientStorage, err, 10*time.Second)
	}
	if c.Limits.Free == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.life.Now(); now.Sub(c.At) > lookEvery {
		n, err := c.Limits.Free()
		if err != nil {
			return fmt.Errorf("server: free space of %s: %w", c.dir, err)
		}
		c.free, c.At = n, now
	}
	if c.free < c.Limits.MinFree {
		return edge.StatusAfter(http.StatusInsufficientStorage,
			fmt.Errorf("the disk of %s has %d MiB left, less than the %d MiB kept free: delete checkpoints (tinker "+
				"checkpoint delete) or free some space; nothing accepted is lost",
				c.dir, c.free>>20, c.Limits.MinFree>>20), 10*time.Second)
	}
	return nil
}

// Amount is an amount of work: requests and the bytes they take.
type Amount struct {
	Requests int
	Bytes    int64
}

// Quota counts the pending work of one kind, limits it, and divides the limit among tenants: a tenant's backlog may
// not exceed the remaining capacity. So one tenant alone fills half, two fill a third each, and a new tenant always
// finds room. The methods are safe for concurrent use.
type Quota struct {
	What string // of the work, for errors
	most Amount

	mu      sync.Mutex
	all     Amount
	Tenants map[string]*Amount // those with work
}

func NewQuota(what string, requests int, bytes int64) *Quota {
	return &Quota{What: what, most: Amount{requests, bytes}, Tenants: map[string]*Amount{}}
}

// room returns an error if a tenant's request of that many bytes does not fit. The first request of a tenant may
// have any size.
func (q *Quota) room(tenant string, bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.full(tenant, bytes)
}

// full is room; q.mu is held.
func (q *Quota) full(tenant string, bytes int64) error {
	var own Amount
	if t := q.Tenants[tenant]; t != nil {
		own = *t
	}
	free := Amount{q.most.Requests - q.all.Requests, q.most.Bytes - q.all.Bytes}
	small := own.Requests < free.Requests && own.Bytes+bytes <= free.Bytes
	first := own.Requests == 0 && free.Requests > 0 && free.Bytes > 0
	if small || first {
		return nil
	}
	return fmt.Errorf("queue full: %d %s with %d bytes pending, %d with %d bytes of them yours; "+
		"a tenant's backlog may not exceed the remaining capacity (of %d requests and %d bytes)",
		q.all.Requests, q.What, q.all.Bytes, own.Requests, own.Bytes, q.most.Requests, q.most.Bytes)
}

// Take adds a request whether it fits or not: a request that an earlier process accepted must be executed.
func (q *Quota) Take(tenant string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(tenant, Amount{1, bytes})
}

// Try adds a request if it fits.
func (q *Quota) Try(tenant string, bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.full(tenant, bytes); err != nil {
		return err
	}
	q.add(tenant, Amount{1, bytes})
	return nil
}

// Release removes a request that was added with the same tenant and size.
func (q *Quota) Release(tenant string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(tenant, Amount{-1, -bytes})
}

// add changes the counts; q.mu is held.
func (q *Quota) add(tenant string, n Amount) {
	own := q.Tenants[tenant]
	if own == nil {
		own = new(Amount)
		q.Tenants[tenant] = own
	}
	for _, l := range []*Amount{&q.all, own} {
		l.Requests, l.Bytes = l.Requests+n.Requests, l.Bytes+n.Bytes
	}
	if own.Requests == 0 {
		delete(q.Tenants, tenant)
	}
}

// Now is the pending work of all tenants, and of one.
func (q *Quota) Now(tenant string) (all, own Amount) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.Tenants[tenant]; t != nil {
		own = *t
	}
	return q.all, own
}
