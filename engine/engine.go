// Package engine trains and samples language models in this process: it is tinker.Service on the CPU.
//
// Engine joins the parts that do the work, each of which has its package below engine/internal:
//   - training: the state machine of a model. A training run applies forwards, backwards and optimizer steps, saves and
//     loads checkpoints, and writes and restores snapshots;
//   - queue: the order of a run's requests, and the answers to repeated ones;
//   - compute: the loop that computes the micro-batches of all training runs;
//   - sampler: the scheduler that computes the samples of all requests together, over the KV pages of package cache;
//   - weights: the base models and versions of weights, and the memory of all of them;
//   - checkpoint: the folder of checkpoints;
//   - spread, local: work that goes to other machines, and the executor that another machine runs;
//   - fair, lifetime: how tenants, training and sampling share the threads; goroutines that end with the engine.
//
// The life of a request: a call of a TrainingClient gets a number and enters the run's queue, which executes requests
// in SeqID order. A forward or backward is cut into parts, and these into micro-batches; the compute loop takes them
// from all runs in a fair order. A failed request does not change the run's state. Samples of all requests advance
// together, one token each in a step. The compute loop and the scheduler alternate on the same threads, in the order of
// the computing time that each tenant has used; training can be interrupted between two layers. Memory is reserved
// before it is allocated.
//
// The tenant of a request is its Owner; an empty one is a tenant too.
//
// A token's log-probability is a pure function of the base weights, the adapter and the tokens before it: the same
// bits alone or in a batch, sampled or trained on, with any number of threads. A training run is a deterministic
// state machine: the same requests in the same order give the same bits, so a snapshot, Restore and a replay of the
// later requests reproduce its state exactly.
//
// Without a running engine, Describe, ReadAdapter, Merge and CopyModel work on folders of models and adapters.
package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/local"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/sampler"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/spread"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/training"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Model is a base model that an engine serves.
type Model = weights.Model

// TokenBytes is the part of a tokenizer that stop strings need.
type TokenBytes = weights.TokenBytes

// Options configure an engine. Dir and Models are required; the zero value of any other field means its default.
type Options struct {
	Dir    string           // folder of the checkpoints
	Models map[string]Model // base models by name
	// Threads that compute; default GOMAXPROCS.
	Threads int
	// Kernel forces a path of package kernel, "portable" for instance; default the best that passes its self-test.
	Kernel string
	// Order in which bf16 products add, "sequential" or "blocked"; default the order that Dir was begun with, or the
	// processor's own in a new folder. Dir also keeps the arithmetic that it was begun with, see [Numerics].
	Order string
	// BaseDtype is that of the base models' matrices, BaseBF16, BaseInt8 or BaseInt4; default that of Dir, or BaseBF16
	// in a new folder. Base models in int8 or int4 are frozen: only LoRAs are trained on them.
	BaseDtype string
	// Seed of the random choices that requests leave open; nil uses the system's randomness.
	Seed *uint64

	CacheBytes   int64 // KV pages per base model; default 1 GiB, see Fit
	TapeBytes    int64 // activations kept for a backward; beyond that they are recomputed; default 1 GiB, see Fit
	MicroBatch   int   // tokens computed in one turn; default 2048
	MaxSequences int   // samples computed together; default 256
	MaxWaiting   int   // requests that may wait, of training and of sampling each; default 16384
	MaxTokens    int64 // tokens of those requests; default 32 Mi
	KeepResults  int   // results kept per model for repeated requests; default 1024
	KeepBytes    int64 // bytes of those results; default 64 MiB
	// SkipMissing leaves out base models that are missing or cannot be read; requests to their training runs are
	// refused with the model's name. Without it Open fails.
	SkipMissing bool
	// Beside says that another process may be saving into Dir now: unfinished checkpoints are not removed.
	Beside bool
	// Memory is bytes for training runs, samplers' weights and base weights beyond the largest, as estimated; 0 is no
	// limit.
	Memory int64
	// SharePrefixes lets tenants use the cached prefixes of each other's prompts. They can notice it by how long an
	// answer takes.
	SharePrefixes bool
	// IdleAfter is how long base weights stay in memory that nothing uses; 0 is for ever.
	IdleAfter time.Duration
	// Pool computes parts of training requests and samples on other machines, beside the threads of this process; nil:
	// there are no others. It changes no bit.
	Pool executor.Pool
	// PoolOnly leaves to Pool what it can compute, while there are executors. This process computes the rest.
	PoolOnly  bool
	PoolBytes int64 // gradients of parts that wait for an earlier one; default 1 GiB
	FS        disk.FS
	Now       func() time.Time // for the expiry of checkpoints
	Log       *slog.Logger
}

// Fit sets CacheBytes and TapeBytes to shares of a machine's memory, in bytes: for all base models together an eighth,
// and a sixteenth, and at least the defaults. 0 is a memory that is not known. They change no bit, only how often keys,
// values and activations are computed again.
func (o *Options) Fit(memory int64) {
	o.CacheBytes = max(1<<30, memory/8/int64(max(1, len(o.Models))))
	o.TapeBytes = max(1<<30, memory/16)
}

func (o *Options) defaults() {
	def(&o.Threads, runtime.GOMAXPROCS(0))
	def(&o.CacheBytes, 1<<30)
	def(&o.TapeBytes, 1<<30)
	def(&o.MicroBatch, 2048)
	def(&o.MaxSequences, 256)
	def(&o.MaxWaiting, 1<<14)
	def(&o.MaxTokens, 32<<20)
	def(&o.KeepResults, 1024)
	def(&o.KeepBytes, 64<<20)
	def(&o.PoolBytes, 1<<30)
	o.FS = cmp.Or(o.FS, disk.OS())
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
}

func def[T int | int64](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Engine is a tinker.Service, with the methods that package journal needs to make it durable. It joins the parts that
// do the work, each of which has its package below engine/internal.
type Engine struct {
	core
	opts     Options
	training *fair.Backlog // of requests to training runs
	store    *checkpoint.Store
	spread   *spread.Spreader // nil without Options.Pool
	trainer  *training.Trainer
	self     *local.Executor // of Executor
	clients  sampler.ClientOptions
	draw     func() uint64

	mu       sync.Mutex
	runs     map[string]*training.Run
	unloaded map[string]bool

	making sync.Mutex // held while a training run is made
}

var _ tinker.Service = (*Engine)(nil)

// Open reads the configurations of the base models and cleans up Dir. The weights are read when they are first
// needed.
func Open(opts Options) (*Engine, error) {
	opts.defaults()
	numerics, err := arithmeticOf(opts.FS, opts.Dir, opts.Order, opts.BaseDtype)
	if err != nil {
		return nil, err
	}
	c, err := newCore(opts, numerics)
	if err != nil {
		return nil, err
	}
	e := &Engine{core: c, opts: opts, runs: map[string]*training.Run{}, unloaded: map[string]bool{},
		draw: draws(opts.Seed)}
	if e.store, err = checkpoint.New(opts.Dir, opts.FS, opts.Now, opts.Beside); err == nil {
		err = e.serve(opts.Models)
	}
	if err != nil {
		c.compute.P.Close()
		return nil, err
	}
	e.join()
	return e, nil
}

// serve adds the base models.
func (e *Engine) serve(models map[string]Model) error {
	for _, name := range slices.Sorted(maps.Keys(models)) {
		err := e.memory.Serve(name, models[name])
		if err != nil && !e.opts.SkipMissing {
			return err
		}
		if err != nil {
			e.opts.Log.Error("base model is unavailable; requests to its training runs are refused", "error", err)
		}
	}
	return nil
}

// join makes the parts that only an engine with models has.
func (e *Engine) join() {
	o := e.opts
	e.self = local.New(local.Options{Memory: e.memory, Loop: e.loop, Scheduler: e.scheduler, Numerics: e.numerics.id(),
		Limit: 1 << 30, Named: true})
	e.clients = sampler.ClientOptions{Memory: e.memory, Submit: e.scheduler.Submit, Draw: e.draw,
		SharePrefixes: o.SharePrefixes}
	if o.Pool != nil {
		e.spread = spread.New(spread.Options{Pool: o.Pool, PoolOnly: o.PoolOnly, PoolBytes: o.PoolBytes,
			Numerics: e.numerics.id(), Loop: e.loop, Scheduler: e.scheduler, Backlog: e.sampling, Group: e.group,
			Log: o.Log})
		e.clients.Submit = e.spread.Submit
	}
	e.training = fair.NewBacklog(tinker.Queue{Requests: o.MaxWaiting, Tokens: o.MaxTokens})
	e.trainer = training.New(training.Options{Numerics: e.numerics.id(), Memory: e.memory,
		Loop: e.loop, Store: e.store, Spread: e.spread, Group: e.group, Backlog: e.training, KeepResults: o.KeepResults,
		KeepBytes: o.KeepBytes, Draw: e.draw, Now: o.Now, Log: o.Log})
}

// draws returns a source of random numbers, safe for concurrent use: derived from seed, or the system's.
func draws(seed *uint64) func() uint64 {
	if seed != nil {
		var mu sync.Mutex
		s := rng.New(*seed).Stream("engine")
		return func() uint64 {
			mu.Lock()
			defer mu.Unlock()
			return s.Uint64()
		}
	}
	return func() uint64 {
		var b [8]byte
		rand.Read(b[:]) // never fails
		return binary.LittleEndian.Uint64(b[:])
	}
}

// Capabilities lists the base models by name.
func (e *Engine) Capabilities(context.Context) (tinker.Capabilities, error) {
	c := tinker.Capabilities{ExactLogprobs: true, ExactEntropy: true, FullParameter: true,
		SilentDatums: e.loop.Division.Tree > 0}
	for _, name := range e.memory.Names() {
		c.Models = append(c.Models, tinker.SupportedModel{Name: name, ContextLength: e.memory.Find(name).Context})
	}
	return c, nil
}

// Close fails every request with tinker.ErrClosed and returns when no goroutine of the engine is left.
func (e *Engine) Close() error {
	e.close(func() {
		e.mu.Lock()
		runs := slices.Collect(maps.Values(e.runs))
		e.mu.Unlock()
		for _, r := range runs {
			r.Close()
		}
	})
	return nil
}
