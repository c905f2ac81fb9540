// Package dispatchtest carries tasks to workers in the same process, in random order: the carrier of tests.
package dispatchtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/dispatch"
	"github.com/seed-d9ad8ee0/trinity/engine/executor"
)

// Worker computes tasks, as a worker.Worker does.
type Worker interface {
	Compute(ctx context.Context, payload []byte, have func(hash string) (string, error)) ([]byte, error)
}

// Carrier is a dispatch.Carrier. Each worker computes up to Slots tasks at a time. Answers come after a random delay,
// and a share Lose of them is lost, so that the task is computed again.
type Carrier struct {
	Slots int
	Lose  float64
	Fail  func(dispatch.Task) error // nil, or an error in place of the answer
	Hear  func(context.Context)     // nil, or called with the context of each call; safe for concurrent use
	// Lie changes answers, and every answer is doubted once it was given; nil does not.
	Lie func(kind string, answer []byte)

	dir     string
	mu      sync.Mutex
	rand    *rand.Rand
	blobs   map[string]*offer
	workers []Worker
	busy    []int // tasks by worker
	done    map[string]int
	changed chan struct{}
}

// New returns a carrier to workers.
func New(t testing.TB, workers ...Worker) *Carrier {
	return &Carrier{Slots: 2, dir: t.TempDir(), rand: rand.New(rand.NewPCG(1, 2)), workers: workers,
		blobs: map[string]*offer{}, busy: make([]int, len(workers)), done: map[string]int{},
		changed: make(chan struct{})}
}

// Done is how many tasks of each kind were answered.
func (c *Carrier) Done(kind executor.Kind) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done[string(kind)]
}

// SetWorkers replaces the workers. Tasks under way end where they are.
func (c *Carrier) SetWorkers(workers ...Worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers, c.busy = workers, make([]int, len(workers))
	c.wake()
}

// wake closes the channel of Changed; c.mu is held.
func (c *Carrier) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// doubted is the receipt of a lie.
type doubted struct{}

// Doubted implements executor.Receipt.
func (doubted) Doubted() bool { return true }

// Used implements executor.Receipt.
func (doubted) Used() {}

// Do implements dispatch.Carrier.
func (c *Carrier) Do(ctx context.Context, t dispatch.Task) ([]byte, error) {
	if c.Hear != nil {
		c.Hear(ctx)
	}
	for {
		out, lost, err := c.try(ctx, t)
		if !lost {
			return out, err
		}
	}
}

func (c *Carrier) try(ctx context.Context, t dispatch.Task) (out []byte, lost bool, err error) {
	w, leave, err := c.take(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	out, err = w.Compute(ctx, t.Payload, c.have)
	c.mu.Lock()
	wait := time.Duration(c.rand.IntN(3000)) * time.Microsecond
	lost = c.rand.Float64() < c.Lose
	c.done[t.Kind]++
	c.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	if c.Fail != nil && c.Fail(t) != nil {
		return nil, false, c.Fail(t)
	}
	if err == nil && c.Lie != nil {
		c.Lie(t.Kind, out)
		if t.Check != nil && t.Check(out) != nil {
			return nil, true, nil
		}
		executor.Note(ctx, doubted{})
	}
	return out, lost, err
}

// take waits for a free worker.
func (c *Carrier) take(ctx context.Context) (w Worker, leave func(), err error) {
	for {
		c.mu.Lock()
		if n := len(c.workers); n > 0 {
			busy, first := c.busy, c.rand.IntN(n)
			for k := range n {
				i := (first + k) % n
				if busy[i] < c.Slots {
					busy[i]++
					w := c.workers[i]
					c.mu.Unlock()
					return w, func() { c.mu.Lock(); defer c.mu.Unlock(); busy[i]--; c.wake() }, nil
				}
			}
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// have writes a blob to a file.
func (c *Carrier) have(hash string) (string, error) {
	c.mu.Lock()
	o := c.blobs[hash]
	c.mu.Unlock()
	if o == nil {
		return "", fmt.Errorf("dispatchtest: blob %.12s is not offered", hash)
	}
	in, err := o.open()
	if err != nil {
		return "", err
	}
	defer in.Close()
	content, err := io.ReadAll(in)
	if err != nil {
		return "", err
	}
	if executor.HashOf(content) != hash {
		return "", errors.New("dispatchtest: a blob has another hash")
	}
	path := filepath.Join(c.dir, hash)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	f, err := os.CreateTemp(c.dir, "new")
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return path, os.Rename(f.Name(), path)
}

// offer is a blob that workers may ask for. As with a fleet.Head, the first call of Offer says how to read it, and as
// many calls of Withdraw as of Offer end it.
type offer struct {
	open  func() (io.ReadCloser, error)
	users int
}

// Offer implements dispatch.Carrier.
func (c *Carrier) Offer(hash string, _ int64, open func() (io.ReadCloser, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blobs[hash] == nil {
		c.blobs[hash] = &offer{open: open}
	}
	c.blobs[hash].users++
}

// Withdraw implements dispatch.Carrier.
func (c *Carrier) Withdraw(hash string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.blobs[hash]; o != nil {
		if o.users--; o.users == 0 {
			delete(c.blobs, hash)
		}
	}
}

// Offered is the hashes of the blobs that workers may ask for.
func (c *Carrier) Offered() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.blobs))
}

// Room implements dispatch.Carrier.
func (c *Carrier) Room() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.busy {
		n += c.Slots - b
	}
	return n
}

// Workers implements dispatch.Carrier.
func (c *Carrier) Workers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.workers)
}

// Speed implements dispatch.Carrier: each worker is as fast as the head.
func (c *Carrier) Speed() float64 { return float64(c.Workers()) }

// Changed implements dispatch.Carrier.
func (c *Carrier) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}
