package server

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Queues limit pending work, and what is accepted while the disk fills up. Zero values mean their defaults.
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

// capacity says whether there is room for new work: in the queues, in the engine and on the disk.
type capacity struct {
	training  *quota // pending training requests
	sampling  *quota // unfinished samples
	listening *quota // calls that wait for a result

	limits Queues
	life   *life
	dir    string
	heal   func() error // makes the logs writable again; nil if they are
	engine tinker.Bounded
	full   func() // counts a request that is refused for now

	mu   sync.Mutex
	free int64 // bytes of disk, when it was measured last
	at   time.Time
}

// newCapacity returns the capacity of a server whose data are in dir. engine may be nil.
func newCapacity(o Queues, l *life, dir string, heal func() error, engine tinker.Bounded, full func()) *capacity {
	def(&o.MaxSamples, 8192)
	def(&o.MaxSampleBytes, 256<<20)
	def(&o.MaxQueuedBytes, 2<<30)
	def(&o.MaxListening, 1<<14)
	def(&o.Crowd, 256)
	if o.MinFree == 0 {
		o.MinFree = 256 << 20
	}
	return &capacity{
		training:  newQuota("training requests", math.MaxInt32, o.MaxQueuedBytes), // package engine bounds their number
		sampling:  newQuota("samples", o.MaxSamples, o.MaxSampleBytes),
		listening: newQuota("calls", o.MaxListening, math.MaxInt64/2),
		limits:    o, life: l, dir: dir, heal: heal, engine: engine, full: full}
}

// queue refuses a request of that many tokens and bytes while the queue of its kind is full.
func (c *capacity) queue(work tinker.Work, tenant string, tokens int, bytes int64) error {
	q := c.training
	if work == tinker.Sampling {
		q = c.sampling
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

// listen counts a call that waits for a result against its tenant's limit until leave is called.
func (c *capacity) listen(tenant string) (leave func(), err error) {
	if err := c.listening.try(tenant, 0); err != nil {
		c.full()
		return nil, err
	}
	return func() { c.listening.release(tenant, 0) }, nil
}

// crowded says why samples of a tenant take long, if many are in progress; else it is "".
func (c *capacity) crowded(tenant string) string {
	all, own := c.sampling.now(tenant)
	if all.requests <= c.limits.Crowd {
		return ""
	}
	return fmt.Sprintf("%d sample requests are under way on this server, %d of them yours", all.requests, own.requests)
}

// writable returns nil when accepted requests can be made durable. After a failed write it tries again, so that the
// server continues when there is space again.
func (c *capacity) writable() error {
	err := c.heal()
	if err == nil {
		return nil
	}
	c.life.log.Error("the data folder cannot be written", "error", err)
	return unwritable(err)
}

// lookEvery limits how often the disk is measured.
const lookEvery = time.Second

// disk refuses new work while the disk is nearly full, to keep space for what was accepted.
func (c *capacity) disk() error {
	if c.life.closing() {
		return statusAfter(http.StatusServiceUnavailable,
			errors.New("the server is closing; it continues after its next start"), time.Second)
	}
	if err := c.writable(); err != nil {
		return statusAfter(http.StatusInsufficientStorage, err, 10*time.Second)
	}
	if c.limits.Free == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.life.now(); now.Sub(c.at) > lookEvery {
		n, err := c.limits.Free()
		if err != nil {
			return fmt.Errorf("server: free space of %s: %w", c.dir, err)
		}
		c.free, c.at = n, now
	}
	if c.free < c.limits.MinFree {
		return statusAfter(http.StatusInsufficientStorage,
			fmt.Errorf("the disk of %s has %d MiB left, less than the %d MiB kept free: delete checkpoints (tinker "+
				"checkpoint delete) or free some space; nothing accepted is lost",
				c.dir, c.free>>20, c.limits.MinFree>>20), 10*time.Second)
	}
	return nil
}
