// Package simulate measures how a fleet scales: the real head and the real embedded NATS server, with workers that only
// wait. A simulated worker is [fleet.Join] over a connection with a fixed delay; its function sleeps as long as the
// task's cost says at the worker's speed.
package simulate

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
)

// Work is the tasks that the head gives out.
type Work struct {
	Workers int           // that are waited for before the clock starts
	Tasks   int           // for each worker
	Each    time.Duration // that a task takes
	Spread  float64       // tasks take from Each·(1−Spread) to Each·(1+Spread)
	Payload int           // bytes of a task
	Answer  int           // bytes of an answer
}

// Report has the measurements.
type Report struct {
	Workers    int
	Tasks      int
	Wall       time.Duration // from the first task's call of Do to the last one's return
	Ideal      time.Duration // of workers that never wait
	Efficiency float64       // Ideal / Wall
	Status     fleet.Status
}

// perSecond is the cost that a simulated worker computes in a second.
const perSecond = 1000

// Head waits for the workers, gives them the work and measures.
func Head(ctx context.Context, h *fleet.Head, w Work) (Report, error) {
	for h.Workers() < w.Workers {
		select {
		case <-ctx.Done():
			return Report{}, fmt.Errorf("simulate: %d of %d workers came: %w", h.Workers(), w.Workers, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	n := w.Workers * w.Tasks
	tasks := make([]fleet.Task, n)
	total := 0.0
	for i := range tasks {
		// A fixed sequence that spreads evenly over [-1, 1).
		at := 2*float64(i*7919%n)/float64(n) - 1
		seconds := float64(w.Each.Seconds() * (1 + float64(w.Spread*at)))
		payload := make([]byte, max(w.Payload, 16))
		binary.LittleEndian.PutUint64(payload, uint64(i))
		binary.LittleEndian.PutUint64(payload[8:], uint64(w.Answer))
		tasks[i] = fleet.NewTask("sleep", payload, seconds*perSecond)
		total += seconds
	}
	r := Report{Workers: w.Workers, Tasks: n, Ideal: time.Duration(total / float64(w.Workers) * float64(time.Second))}
	begun := time.Now()
	err := all(ctx, h, tasks)
	r.Wall = time.Since(begun)
	r.Efficiency = r.Ideal.Seconds() / r.Wall.Seconds()
	r.Status = h.Status()
	return r, err
}

// all does all tasks at once.
func all(ctx context.Context, h *fleet.Head, tasks []fleet.Task) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, t := range tasks {
		wg.Go(func() {
			if _, err := h.Do(ctx, t); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// Crew are simulated workers of one process.
type Crew struct {
	URL, Creds string
	Dir        string // of their caches
	First, N   int    // numbers of the workers
	Delay      time.Duration
	Version    string
}

// mostJoining are the workers that connect at a time: all of them have this machine's processor, and keys take work.
const mostJoining = 16

// Run lives their lives until the context ends.
func (c Crew) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	joining := make(chan struct{}, mostJoining)
	for i := range c.N {
		wg.Go(func() {
			joining <- struct{}{}
			joined := sync.OnceFunc(func() { <-joining })
			defer joined()
			name := fmt.Sprintf("simulated-%04d", c.First+i)
			err := fleet.Join(ctx, fleet.JoinOptions{URL: c.URL, Creds: c.Creds, Cache: filepath.Join(c.Dir, name),
				About: fleet.About{Name: name, Version: c.Version, Processor: "simulated", Kernels: "sleep", Slots: 1},
				Dial:  Dialer{c.Delay}, Log: func(line string) {
					if strings.HasPrefix(line, "fleet: joined ") {
						joined()
					}
				}}, sleep)
			if ctx.Err() == nil {
				cancel(fmt.Errorf("simulate: worker %s: %w", name, err))
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != context.Canceled {
		return err
	}
	return os.RemoveAll(c.Dir)
}

// sleep takes as long as the task's cost says and answers with as many bytes as the task asks for.
func sleep(ctx context.Context, t fleet.Task, _ func(string) (string, error)) ([]byte, error) {
	timer := time.NewTimer(time.Duration(t.Cost / perSecond * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return make([]byte, binary.LittleEndian.Uint64(t.Payload[8:])), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
