// Package server speaks the Tinker protocol over HTTP for any durable tinker.Service, so that the unmodified Python
// SDK, the tinker command and this project's own client train and sample here as they do on the hosted service.
//
// A request's life: the route (route.go) finds the tenant by the hash of the key (auth.go) and decodes the body; a
// training request (train.go) goes to the Backend, which makes it durable; a session, a sampler or a sample
// (session.go, sampler.go, sample.go) goes to the server's own log (state.go). Only then is the promise returned. Its
// request id is signed natural key, so retrieve_future (future.go) finds the result in any later process too. Results
// are waited for, never polled.
//
// Logprobs of samples are raw: of the model's own distribution at temperature 1. Telemetry of the SDK is accepted and
// dropped. What a server on one machine cannot have (billing, audit, projects, traces) is refused by name (refuse.go).
package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/wal"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Backend is the durable service behind a server. Package journal has one.
type Backend interface {
	tinker.Service
	tinker.Unloader
	// OpenModel returns the client of a model that is there; another is ErrNotFound.
	OpenModel(ctx context.Context, modelID string) (tinker.TrainingClient, error)
	// Accepted reports whether a training request was accepted, also in an earlier process.
	Accepted(modelID string, seqID int64) bool
	// Rest lets go of the memory of a model of which nothing runs; its next request brings it back.
	Rest(modelID string) error
	// RestOne is Rest of the model that was left alone for longest; false says that there is none.
	RestOne() (bool, error)
	// Heal returns nil when requests can be made durable. After a write that failed it tries once more.
	Heal() error
	// Lookup finds an accepted training request, also of an earlier process. future is a *tinker.Future of its result,
	// nil when the result is no longer kept.
	Lookup(modelID string, seqID int64) (future any, accepted bool)
}

// Store lists and reads what the Backend saved. Package engine has one.
type Store interface {
	Checkpoints(ctx context.Context) ([]tinker.Checkpoint, error)
	Checkpoint(path string) (tinker.Checkpoint, error)
	// Folder is where a checkpoint's files lie, for reading.
	Folder(path string) (string, error)
}

// Exporter is a Store that gives some files of a checkpoint away in another form than it keeps them. Package engine has
// one.
type Exporter interface {
	Export(path string) ([]tinker.ExportFile, error)
}

// Options set a server up. Dir and Store are needed; zero values of the others mean their defaults.
type Options struct {
	Dir   string // the server's own log and secret
	Store Store
	// Keys says who may come in; nil takes every key that begins like one.
	Keys Keys
	// Aliases are further names of base models; clients see them.
	Aliases map[string]string
	// Folders are names that are taken and never told, such as the absolute paths of base models' folders.
	Folders map[string]string
	// Order lists base models in the order in which clients see them; those it lacks come behind.
	Order []string
	// HubNames gives, by base model, the name on the Hugging Face hub of a repository with its tokenizer.
	HubNames map[string]string
	// Tokenizers gives, by base model, the folder whose tokenizer files are served to clients as a hub serves them
	// (tokenizer.go).
	Tokenizers map[string]string
	// Private gives, by folder of this machine, what stands for it in the errors that clients get.
	Private map[string]string
	// PublicURL is where clients reach the server (scheme and host, perhaps a path), for addresses it gives out; "" is
	// taken from each request.
	PublicURL string

	Hold            time.Duration         // how long retrieve_future waits for a result; default 25 s
	GapAfter        time.Duration         // how long a missing training request is waited for; default 7 min, beyond the SDK's own retries
	KeepResults     time.Duration         // how long a fetched sample is kept; default 10 min
	KeepUnfetched   time.Duration         // how long one is kept that nobody fetched; default 24 h
	KeepSessions    time.Duration         // how long a silent session keeps its samplers, and itself if it has no runs; default 24 h
	KeepUnnamed     time.Duration         // how long an unused unnamed sampler is kept; default 6 h
	KeepStability   time.Duration         // how long stability information is kept that nobody trains on; default 24 h
	MaxStability    int64                 // bytes of one tenant's stability information; default 64 MiB, about 8 million tokens
	MaxUnnamed      int                   // unnamed samplers of a tenant; beyond, those not used for longest go; default 1024
	MaxUnnamedBytes int64                 // and their bytes on the disk; default 4 GiB
	MaxKeptBytes    int64                 // bytes of a tenant's results of samples that are kept; default 256 MiB
	MaxSamples      int                   // asample requests outstanding; default 8192. Of this and the next three one tenant gets at most half
	MaxSampleBytes  int64                 // and their bytes; default 256 MiB
	MaxQueuedBytes  int64                 // bytes of training requests that wait; default 2 GiB
	MaxListening    int                   // calls that wait for a result; default 16384
	Crowd           int                   // beyond so many samples, waiting clients are told that the server is full; default 256
	MaxBody         int64                 // bytes of one request of training or sampling, unpacked; default 256 MiB
	MaxSmallBody    int64                 // bytes of one request of any other kind; default 1 MiB
	MaxBodies       int64                 // bytes of memory of all requests that are being read and decoded; default 1 GiB
	MaxTenantBodies int64                 // and of one tenant's; default half of MaxBodies
	MaxUnpack       int                   // how many times its packed size a body may unpack to, beyond 16 MiB; default 256
	MaxElements     int                   // objects, arrays, members or messages of one body; default 256 Ki
	MaxDepth        int                   // of nested JSON; default 64
	MaxMissing      int64                 // numbers of a model that may be missing below one that is accepted; default 4096
	MinFree         int64                 // bytes of disk below which nothing new is accepted; default 256 MiB, negative is no minimum
	Free            func() (int64, error) // free bytes on the data's disk; nil does not look
	FS              disk.FS
	Log             *slog.Logger
	Now             func() time.Time
}

func (o *Options) defaults() {
	def(&o.Hold, 25*time.Second)
	def(&o.GapAfter, 7*time.Minute)
	def(&o.KeepResults, 10*time.Minute)
	def(&o.KeepUnfetched, 24*time.Hour)
	def(&o.KeepSessions, 24*time.Hour)
	def(&o.KeepUnnamed, 6*time.Hour)
	def(&o.KeepStability, 24*time.Hour)
	def(&o.MaxStability, 64<<20)
	def(&o.MaxKeptBytes, 256<<20)
	def(&o.MaxUnnamed, 1024)
	def(&o.MaxUnnamedBytes, 4<<30)
	def(&o.MaxSamples, 8192)
	def(&o.Crowd, 256)
	def(&o.MaxSampleBytes, 256<<20)
	def(&o.MaxQueuedBytes, 2<<30)
	def(&o.MaxListening, 1<<14)
	def(&o.MaxBody, 256<<20)
	def(&o.MaxSmallBody, 1<<20)
	def(&o.MaxBodies, 1<<30)
	def(&o.MaxTenantBodies, o.MaxBodies/2)
	def(&o.MaxUnpack, 256)
	def(&o.MaxElements, 256<<10)
	def(&o.MaxDepth, 64)
	def(&o.MaxMissing, 4096)
	if o.MinFree == 0 {
		o.MinFree = 256 << 20
	}
	if o.FS == nil {
		o.FS = disk.OS()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

func def[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Server is an http.Handler. Open makes one, Close ends it; the Backend stays the caller's.
type Server struct {
	backend Backend
	opts    Options
	secret  []byte // signs request ids and archive addresses
	mux     *http.ServeMux
	stats   *stats
	hider   *strings.Replacer

	bodies    *budget   // of requests in flight
	inflaters inflaters // of zstd

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	work   group

	training  *quota // training requests that wait
	sampling  *quota // samples that are not finished
	listening *quota // calls that wait for a result

	mu    sync.Mutex
	log   *wal.Log
	state state
	free  freeSpace
}

// Open reads the server's log and takes up what an earlier process accepted: models are found again or made, unfinished
// samples are drawn again from their seeds.
func Open(ctx context.Context, b Backend, opts Options) (*Server, error) {
	opts.defaults()
	s := &Server{backend: b, opts: opts, stats: newStats(), hider: hider(opts.Private), state: newState(),
		bodies: newBudget(opts.MaxBodies, opts.MaxTenantBodies), inflaters: newInflaters(max(4, runtime.GOMAXPROCS(0)))}
	s.training = newQuota("training requests", math.MaxInt32, opts.MaxQueuedBytes) // package engine bounds their number
	s.sampling = newQuota("samples", opts.MaxSamples, opts.MaxSampleBytes)
	s.listening = newQuota("calls", opts.MaxListening, math.MaxInt64/2)
	s.stats.watch(s)
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	var err error
	if err := opts.FS.MkdirAll(opts.Dir); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if s.secret, err = readSecret(opts.FS, filepath.Join(opts.Dir, "secret")); err != nil {
		return nil, err
	}
	if s.log, err = wal.Open(filepath.Join(opts.Dir, logName), s.logOptions(), s.state.replay); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.mux = s.routes()
	s.resume()
	return s, nil
}

// logOptions are those of the server's log.
func (s *Server) logOptions() wal.Options {
	return wal.Options{FS: s.opts.FS, Legacy: wal.LegacyLedger, Notice: func(msg string) { s.opts.Log.Warn(msg) },
		Synced: func(d time.Duration) { s.stats.fsync.WithLabelValues("server").Observe(d.Seconds()) }}
}

// readSecret returns the key that signs ids, drawn at the first start.
func readSecret(dfs disk.FS, path string) ([]byte, error) {
	secret, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		secret = make([]byte, 32)
		rand.Read(secret) // never fails
		return secret, disk.WriteFile(dfs, path, secret)
	}
	if err == nil && len(secret) != 32 {
		err = fmt.Errorf("%s has %d bytes, not 32; restore it from a backup, or remove it (ids given out so far are then unknown)", path, len(secret))
	}
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return secret, nil
}

// resume takes up unfinished work.
func (s *Server) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.state.sessions {
		u.seen = s.opts.Now() // it may have beaten until a moment ago
	}
	for _, r := range s.state.recorded.of {
		r.used = s.opts.Now() // the log does not have who trained on it
	}
	models := s.state.modelsInOrder()
	s.work.begin(func() { s.remake(models) })
	for _, p := range s.state.samples {
		if p.finished.IsZero() {
			p.size = int64(len(p.raw))
			p.tenant = s.state.tenantOf(p.Sampler)
			s.sampling.take(p.tenant, p.size)
			s.draw(p)
		}
	}
	s.resumeKept()
	s.work.begin(s.keepHouse)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Release answers every request that waits for a result, so that an HTTP server can shut down: the result comes later,
// and nothing new is taken.
func (s *Server) Release() { s.cancel(fmt.Errorf("server: %w", tinker.ErrClosed)) }

// Close ends the samples under way, which the next process draws again, and closes the log. A request that is still
// being handled, or comes later, is told to come again.
func (s *Server) Close() error {
	s.Release()
	s.mu.Lock()
	s.state.stopTimers()
	s.mu.Unlock()
	s.work.end()
	return s.log.Close()
}

// group is the server's goroutines. None begins once it has ended: handlers may still run when the server closes.
type group struct {
	mu    sync.Mutex
	ended bool
	wg    sync.WaitGroup
}

// begin runs f beside; false means that the server has ended and the next process does the work.
func (g *group) begin(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		g.wg.Go(f)
	}
	return !g.ended
}

// end returns when nothing runs any more.
func (g *group) end() {
	g.mu.Lock()
	g.ended = true
	g.mu.Unlock()
	g.wg.Wait()
}
