package server

import (
	"log/slog"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Options configure a server. Dir and Store are required; the zero value of any other field means its default.
type Options struct {
	Dir   string // the server's own log and secret
	Store Store
	// Keys decides which keys are accepted; nil accepts every key with the prefix of a key.
	Keys Keys
	// Aliases are further names of base models, which clients see.
	Aliases map[string]string
	// Folders are names that are accepted but never shown, such as the absolute paths of base models' folders.
	Folders map[string]string
	// Order lists base models in the order in which clients see them; the others follow.
	Order []string
	// HubNames gives, by base model, the name on the Hugging Face hub of a repository with its tokenizer.
	HubNames map[string]string
	// Tokenizers gives, by base model, the folder whose tokenizer files are served to clients as a hub serves them
	// (tokenizer.go).
	Tokenizers map[string]string
	// Private gives, by folder of this machine, the text that replaces it in errors for clients.
	Private map[string]string
	// PublicURL is the address at which clients reach the server (scheme and host, perhaps a path), for download
	// addresses; "" uses each request's own.
	PublicURL string
	// Hosts are public names that a Host header may have, in lower case and without a port; nil accepts any. Addresses
	// and private names always may, see web.Guard.
	Hosts []string
	// Origins are the web pages, as in an Origin header, that may call the server from a browser; * is all pages. Pages
	// of the server itself may always.
	Origins []string
	Version string // of the program, for /version

	// Idle is how long the weights of a sampler or a checkpoint stay in memory without a request; 0 is until others
	// need the memory.
	Idle time.Duration

	Hold time.Duration // how long retrieve_future waits for a result; default 25 s
	// time after which a missing training request is cancelled; default 7 min, longer than the SDK's own retries
	GapAfter      time.Duration
	KeepResults   time.Duration // how long a fetched sample is kept; default 10 min
	KeepUnfetched time.Duration // how long an unfetched sample is kept; default 24 h
	// how long a silent session keeps its samplers, and itself if it has no runs; default 24 h
	KeepSessions  time.Duration
	KeepUnnamed   time.Duration // how long an unused unnamed sampler is kept; default 6 h
	KeepStability time.Duration // how long unused stability information is kept; default 24 h
	// bytes of one tenant's stability information; default 64 MiB, about 8 million tokens
	MaxStability int64
	// unnamed samplers of a tenant; beyond that, the least recently used are deleted; default 1024
	MaxUnnamed      int
	MaxUnnamedBytes int64 // bytes of a tenant's unnamed samplers on disk; default 4 GiB
	MaxKeptBytes    int64 // bytes of a tenant's kept sample results; default 256 MiB
	// pending asample requests; default 8192. One tenant gets at most half of this and of the next three limits
	MaxSamples     int
	MaxSampleBytes int64 // bytes of those requests; default 256 MiB
	MaxQueuedBytes int64 // bytes of pending training requests; default 2 GiB
	MaxListening   int   // calls that wait for a result; default 16384
	// pending samples above which waiting clients are told that the server is full; default 256
	Crowd        int
	MaxBody      int64 // bytes of one request of training or sampling, unpacked; default 256 MiB
	MaxSmallBody int64 // bytes of one request of any other kind; default 1 MiB
	// bytes of memory of all requests that are being read and decoded; default 1 GiB
	MaxBodies       int64
	MaxTenantBodies int64 // bytes for one tenant; default half of MaxBodies
	// largest ratio of a body's unpacked to its packed size, beyond 16 MiB; default 256
	MaxUnpack   int
	MaxElements int // objects, arrays, members or messages of one body; default 256 Ki
	MaxDepth    int // of nested JSON; default 64
	// numbers of a model that may be missing below one that is accepted; default 4096
	MaxMissing int64
	// bytes of disk below which nothing new is accepted; default 256 MiB, negative is no minimum
	MinFree int64
	Free    func() (int64, error) // returns the free bytes on the data's disk; nil does not check
	Log     *slog.Logger
	Now     func() time.Time

	fs disk.FS // disk.OS; tests put one in its place that fails
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
	if o.fs == nil {
		o.fs = disk.OS()
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
