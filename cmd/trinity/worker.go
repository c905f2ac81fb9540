package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/cmdline"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/dispatch"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
	"github.com/seed-d9ad8ee0/trinity/engine/worker"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/machine"
)

// workerCmd computes for a run or a server on another machine, until it is stopped.
type workerCmd struct {
	Join      string        `help:"The head's address, as it prints it; default: the credentials'." placeholder:"URL"`
	Creds     string        `required:"" help:"The credentials that the head made: worker.creds." placeholder:"FILE"`
	Threads   int           `help:"Threads that compute; 0 is all." default:"0"`
	MaxMemory cmdline.Bytes `help:"Memory for weights, KV pages and activations; default: half." placeholder:"BYTES"`
	Cache     string        `help:"Folder of base models and adapters; default: in the user's cache." placeholder:"DIR"`
	CacheSize cmdline.Bytes `help:"Disk that base models may take." default:"100GiB" placeholder:"BYTES"`
	Slots     int           `help:"Tasks computed at a time; samples of several tasks share passes." default:"16"`
	Nice      int           `help:"Priority below other programs', 0 to 19." default:"0"`
	Name      string        `help:"What the head calls this machine; default: the host's name." placeholder:"NAME"`
	Kernel    string        `help:"Force a kernel path, such as portable." hidden:""`
	NoHub     bool          `help:"Get base models from the head alone, not from the hub."`
	Battery   bool          `help:"Go on while the machine runs on battery; else the worker pauses."`
}

// adapterShare is the part of the cache for adapters and other blobs.
const adapterShare = 8

// Run implements the command.
func (c *workerCmd) Run(s *surroundings) error {
	if err := c.check(); err != nil {
		return usageError{err}
	}
	if err := machine.LowerPriority(c.Nice); err != nil {
		return fmt.Errorf("worker: --nice %d: %w", c.Nice, err)
	}
	cache, err := c.cache()
	if err != nil {
		return err
	}
	log := slog.New(foreign.Handler(slog.NewTextHandler(s.err, nil)))
	o := worker.Options{Cache: cache, Threads: c.Threads, Kernel: c.Kernel, CacheBytes: int64(c.CacheSize),
		MaxMemory: c.memory(), Log: log}
	if !c.NoHub {
		o.Hub = s.fromHub
	}
	w, err := worker.New(o)
	if err != nil {
		return err
	}
	about, err := c.about(w)
	if err != nil {
		return errors.Join(err, w.Close())
	}
	fmt.Fprintf(s.out, "worker %s: kernels %s, %d threads, %.0f GFLOP/s; cache %s\n", about.Name, about.Kernels,
		about.Threads, about.Speed, cache)
	jo := fleet.JoinOptions{URL: c.Join, Creds: c.Creds, About: about, Cache: cache,
		CacheBytes: int64(c.CacheSize) / adapterShare, Drain: s.stop,
		Log: func(line string) { fmt.Fprintln(s.out, line) }}
	if !c.Battery {
		jo.Paused = func() string {
			if machine.OnBattery() {
				return "the machine runs on battery (--battery goes on)"
			}
			return ""
		}
	}
	var tasks atomic.Int64
	err = fleet.Join(s.ctx, jo, func(ctx context.Context, t fleet.Task, have func(string) (string, error)) ([]byte,
		error) {
		out, err := w.Compute(ctx, t.Payload, have)
		switch {
		case err == nil:
			tasks.Add(1)
		case ctx.Err() != nil: // the head has its answer, or the worker leaves
			log.Debug("a task was called off", "kind", t.Kind, "error", err)
		default:
			log.Warn("a task failed", "kind", t.Kind, "error", err)
		}
		return out, err
	})
	fmt.Fprintf(s.out, "worker %s left; it computed %d tasks\n", about.Name, tasks.Load())
	return errors.Join(err, w.Close())
}

func (c *workerCmd) check() error {
	switch {
	case c.Nice < 0 || c.Nice > 19:
		return fmt.Errorf("worker: --nice is %d; it must be 0 to 19", c.Nice)
	case c.Slots < 1:
		return fmt.Errorf("worker: --slots is %d; it must be at least 1", c.Slots)
	case c.Threads < 0:
		return fmt.Errorf("worker: --threads is %d; it must be at least 1, or 0 for all", c.Threads)
	}
	return nil
}

// cache is the folder of the worker.
func (c *workerCmd) cache() (string, error) {
	if c.Cache != "" {
		return filepath.Abs(c.Cache)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("worker: %w; give --cache", err)
	}
	return filepath.Join(dir, "trinity", "worker"), nil
}

// memory is the limit of the worker in bytes; 0 if the machine's memory is unknown.
func (c *workerCmd) memory() int64 {
	if c.MaxMemory > 0 {
		return int64(c.MaxMemory)
	}
	return machine.Memory() / 2
}

// about describes this machine to the head. The kernels have tested themselves when it is known.
func (c *workerCmd) about(w *worker.Worker) (fleet.About, error) {
	c.Threads = spareProcessors(c.Threads)
	a := fleet.About{Name: c.Name, Version: dispatch.WorkerVersion(version()),
		Numerics: strings.Join(engine.Arithmetics(), ","), Processor: runtime.GOOS + "/" + runtime.GOARCH,
		Threads: c.Threads, Slots: c.Slots, Memory: c.memory()}
	var err error
	if a.Kernels, a.Speed, err = w.Measure(); err != nil {
		return a, err
	}
	if a.Name == "" {
		a.Name, err = os.Hostname()
	}
	return a, err
}

// fromHub returns the folder of a model of the hub at a commit, from the cache or downloaded.
func (s *surroundings) fromHub(ctx context.Context, repo, commit string) (string, error) {
	name := repo
	if commit != "" {
		name += "@" + commit
	}
	if !hub.IsName(name) {
		return "", fmt.Errorf("%q is not a name on the hub", name)
	}
	return s.hub().Weights(ctx, name)
}
