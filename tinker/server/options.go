package server

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/basemodel"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/capacity"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/sampling"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
)

// Options configure a server. Dir and Store are required; the zero value of any other field means its default.
type Options struct {
	Dir     string // the server's own log and secret
	Store   checkpoint.Store
	Models  basemodel.Models
	Access  edge.Access
	Bodies  edge.Bodies
	Queues  capacity.Queues
	Keep    sampling.Keep
	Version string // of the program, for /version

	// Idle is how long the weights of a sampler or a checkpoint stay in memory without a request; 0 is until others
	// need the memory.
	Idle time.Duration
	Hold time.Duration // how long retrieve_future waits for a result; default 25 s
	// time after which a missing training request is cancelled; default 7 min, longer than the SDK's own retries
	GapAfter time.Duration
	// numbers of a model that may be missing below one that is accepted; default 4096
	MaxMissing int64

	Log *slog.Logger
	Now func() time.Time

	fs disk.FS // disk.OS; tests put one in its place that fails
}

func (o *Options) defaults() {
	edge.Default(&o.Hold, 25*time.Second)
	edge.Default(&o.GapAfter, 7*time.Minute)
	edge.Default(&o.MaxMissing, 4096)
	o.Keep.Defaults()
	o.fs = cmp.Or(o.fs, disk.OS())
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// What a program that opens a server needs of its parts.
type (
	// Store lists and reads the checkpoints of the Backend, such as engine.Engine.
	Store = checkpoint.Store
	// Exporter is a Store that exports some files of a checkpoint in another form than they are saved in.
	Exporter = checkpoint.Exporter
	// Models names the base models.
	Models = basemodel.Models
	// Access says who may call.
	Access = edge.Access
	// Keys decides which API keys are accepted.
	Keys = edge.Keys
	// Bodies limit the bodies of requests.
	Bodies = edge.Bodies
	// Queues limit pending work.
	Queues = capacity.Queues
	// Keep limits data that clients no longer ask for.
	Keep = sampling.Keep
)

// HashKey is the stored form of a key.
func HashKey(key string) string { return edge.HashKey(key) }

// TenantOf is the tenant of a key. It reveals nothing about the key.
func TenantOf(key string) string { return edge.TenantOf(key) }

// Verify reads the server's log in dir without changing it and calls seen with its findings.
func Verify(dir string, seen func(line string)) error { return state.Verify(dir, seen) }

// Repair sets aside the parts of the server's log in dir that a start could not read, and calls seen with the losses.
// No process may have the log open.
func Repair(dir string, seen func(line string)) error { return state.Repair(dir, seen) }
