// Package engine trains and samples language models in this process: it is tinker.Service on the CPU.
//
// The life of a request: a call of a TrainingClient gets a number and enters the training run's queue (queue.go),
// which executes requests in SeqID order. A backward is cut into parts (gradient.go), these and a forward into
// micro-batches (train.go, micro.go); an optimizer step runs as a whole (trainingrun.go). The compute loop
// (computeloop.go) takes this work from all training runs in a fair order (share.go). A failed request does not change
// the run's state. Samples of all requests are computed together by the scheduler (scheduler.go, plan.go, spawn.go)
// over KV pages of package engine/internal/cache. The compute loop and the scheduler alternate on the same threads
// (turn.go), in the order of the computing time that each tenant has used (clock.go); training can be interrupted
// between two layers. The memory of training runs and samplers is reserved before it is allocated (memory.go,
// footprint.go).
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
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

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
	if o.FS == nil {
		o.FS = disk.OS()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

func def[T int | int64](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Engine is a tinker.Service, with the methods that package journal needs to make it durable.
type Engine struct {
	opts      Options
	numerics  arithmetic
	compute   nn.Compute
	turn      turn
	bases     map[string]*base
	store     store
	scheduler *scheduler
	training  *computeLoop
	waiting   [2]backlog // by tinker.Work
	figures   counters
	memory    memory
	spread    spreading // of work over Options.Pool
	self      *Local    // of Executor; nil before its first call

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	work   sync.WaitGroup // goroutines of queues, compute loop and scheduler

	versions atomic.Uint64 // the last id given to weights

	mu       sync.Mutex
	closed   bool
	runs     map[string]*trainingRun
	unloaded map[string]bool
	saved    map[string]weak.Pointer[version] // by checkpoint path, while in use
	damaged  map[string]string                // the logged reasons of unreadable checkpoints, by path
	drawn    func() uint64

	making sync.Mutex // held while a training run is made
}

var _ tinker.Service = (*Engine)(nil)

// Open reads the configurations of the base models and cleans up Dir. The weights are read when they are first
// needed.
func Open(opts Options) (*Engine, error) {
	opts.defaults()
	numerics, err := arithmeticOf(opts.FS, opts.Dir, opts.Order)
	if err != nil {
		return nil, err
	}
	return newEngine(opts, numerics)
}

// newEngine makes an engine that computes in an arithmetic. opts are complete.
func newEngine(opts Options, numerics arithmetic) (*Engine, error) {
	k, err := pick(opts.Kernel, numerics.order, opts.Log)
	if err != nil {
		return nil, err
	}
	e := &Engine{opts: opts, numerics: numerics, bases: map[string]*base{}, runs: map[string]*trainingRun{},
		unloaded: map[string]bool{},
		saved:    map[string]weak.Pointer[version]{}, damaged: map[string]string{},
		drawn: draws(opts.Seed)}
	e.memory.total, e.memory.idle, e.memory.dropped = max(0, opts.Memory), opts.IdleAfter, e.reclaim
	e.store.dir, e.store.fs, e.store.now = opts.Dir, opts.FS, opts.Now
	for name, m := range opts.Models {
		b, err := newBase(name, m, opts.CacheBytes)
		if err == nil {
			e.bases[name] = b
			e.memory.bases = append(e.memory.bases, b)
		} else if !opts.SkipMissing {
			return nil, err
		} else {
			opts.Log.Error("base model is unavailable; requests to its training runs are refused", "error", err)
		}
	}
	if !opts.Beside && opts.Dir != "" {
		if err := e.store.tidy(); err != nil {
			return nil, err
		}
	}
	e.compute = nn.Compute{K: k, P: kernel.NewPool(opts.Threads)}
	e.scheduler, e.training = newScheduler(e), newComputeLoop(e)
	for i := range e.waiting {
		e.waiting[i].most = tinker.Queue{Requests: opts.MaxWaiting, Tokens: opts.MaxTokens}
	}
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	return e, nil
}

// draws returns a source of random numbers: derived from seed, or the system's.
func draws(seed *uint64) func() uint64 {
	if seed != nil {
		s := rng.New(*seed).Stream("engine")
		return s.Uint64
	}
	return func() uint64 {
		var b [8]byte
		rand.Read(b[:]) // never fails
		return binary.LittleEndian.Uint64(b[:])
	}
}

func (e *Engine) draw() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.drawn()
}

// Kernel names the kernel path in use.
func (e *Engine) Kernel() string { return e.compute.K.Path().String() }

// Capabilities lists the base models by name.
func (e *Engine) Capabilities(context.Context) (tinker.Capabilities, error) {
	c := tinker.Capabilities{ExactLogprobs: true, ExactEntropy: true, FullParameter: true,
		SilentDatums: e.numerics.tree > 0}
	for _, name := range slices.Sorted(maps.Keys(e.bases)) {
		c.Models = append(c.Models, tinker.SupportedModel{Name: name, ContextLength: e.bases[name].context})
	}
	return c, nil
}

// base returns the base model of that name.
func (e *Engine) base(name string) (*base, error) {
	if b, ok := e.bases[name]; ok {
		return b, nil
	}
	return nil, tinker.Userf("engine: base model %q is not served; there are %q: %w", name,
		slices.Sorted(maps.Keys(e.bases)), tinker.ErrUnserved)
}

// Close fails every request with tinker.ErrClosed and returns when no goroutine of the engine is left.
func (e *Engine) Close() error {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	runs := slices.Collect(maps.Values(e.runs))
	e.mu.Unlock()
	if !first {
		e.work.Wait()
		return nil
	}
	e.cancel(errClosed())
	for _, r := range runs {
		r.q.close()
	}
	e.work.Wait()
	e.memory.end()
	e.compute.P.Close()
	return nil
}

func errClosed() error { return fmt.Errorf("engine: %w", tinker.ErrClosed) }

// start runs f on a goroutine that Close waits for; false means that the engine is closed.
func (e *Engine) start(f func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.work.Go(f)
	return true
}
