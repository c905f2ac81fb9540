// Package journal makes a deterministic tinker.Service durable: an accepted request survives a kill.
//
// A request is appended to a write-ahead log and fsynced (concurrent requests share one fsync) before its future is
// returned. The service below is a state machine: the same requests in the same order give the same bits. After a
// kill, Open restores the last snapshot of each model and replays the later requests of the log. This restores
// weights, optimizer, gradient, unfinished work and the futures of requests that a client may ask for again.
//
// The log has the requests and every random choice that was made for them. Results are logged without an fsync of
// their own: a lost result is recomputed. Sampling changes no state and is passed through.
package journal

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Machine is a deterministic Service whose models can be saved and restored.
type Machine interface {
	tinker.Service
	// OpenModel returns the client of an existing model.
	OpenModel(ctx context.Context, modelID string) (tinker.TrainingClient, error)
	// Snapshot writes a model's state between two of its requests and returns the SeqID of the last one included.
	Snapshot(ctx context.Context, modelID string, w io.Writer) (applied int64, err error)
	// Restore makes a model from a snapshot. The machine must not have it.
	Restore(ctx context.Context, r io.Reader) (modelID string, applied int64, err error)
	// Evict removes a model without pending requests from memory; Restore can make it again.
	Evict(ctx context.Context, modelID string) error
	// NumericsID names the arithmetic: two machines with one id compute the same bits.
	NumericsID() string
}

// Options configure a journal. The zero value is the default.
type Options struct {
	FS disk.FS
	// replayable compute of one model after which it is snapshotted; default 30 s, or 20 times what the last snapshot
	// took, for which the model waits
	SnapshotAfter time.Duration
	share         time.Duration // those 20
	// replayable compute of all models, which limits the time of a start; default 4 × SnapshotAfter
	ReplayMax     time.Duration
	Synced        func(time.Duration) // called with the duration of each fsync of the log; may be nil
	SnapshotBytes int64               // log of one model after which it is snapshotted; default 256 MiB
	SegmentBytes  int64               // a log segment's size; default 64 MiB
	KeepResults   int                 // results kept per model across snapshots; default 64
	KeepBytes     int64               // and their bytes; the newest result is always kept; default 16 MiB
	IdleAfter     time.Duration       // time without a request after which a model is evicted from memory; 0 is never
	Warn          func(msg string)    // called with warnings for the user, such as a change of numerics
	// Local says that no client outlives this process, so that nobody counts on a failure: a request that a full disk
	// fails is executed by the next start. Otherwise what failed stays failed.
	Local bool
}

func (o Options) withDefaults() Options {
	o.FS = cmp.Or(o.FS, disk.OS())
	if o.SnapshotAfter == 0 {
		o.SnapshotAfter, o.share = 30*time.Second, 20
	}
	o.ReplayMax = cmp.Or(o.ReplayMax, 4*o.SnapshotAfter)
	if o.Synced == nil {
		o.Synced = func(time.Duration) {}
	}
	o.SnapshotBytes = cmp.Or(o.SnapshotBytes, 256<<20)
	o.SegmentBytes = cmp.Or(o.SegmentBytes, 64<<20)
	o.KeepResults = cmp.Or(o.KeepResults, 64)
	o.KeepBytes = cmp.Or(o.KeepBytes, 16<<20)
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}

// Journal is a durable tinker.Service around a Machine.
type Journal struct {
	dir  string
	m    Machine
	opts Options
	log  *segments
	cut  int64 // bytes of unfinished writes that Open cut off

	making   sync.Mutex // held while a model is made
	bounding sync.Mutex // held while snapshots bound the replay
	mu       sync.Mutex // guards the rest
	models   map[string]*trainingClient
	byKey    map[key]*trainingClient
	closed   bool

	replayed   chan struct{} // closed when the requests accepted before Open have been replayed
	background background    // watchers of futures and snapshots in progress
	ctx        context.Context
	cancel     context.CancelFunc
}

type key struct {
	session string
	seq     int64
}

// Open reads the journal in dir, or makes it, and brings the machine, which must be empty, to the state after all
// accepted requests. An unfinished record at the end of the log is cut off: its request was never promised. Any
// other damage is an error that names the file.
func Open(ctx context.Context, dir string, m Machine, opts Options) (*Journal, error) {
	opts = opts.withDefaults()
	if err := disk.MkdirAll(opts.FS, dir); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{dir: dir, m: m, opts: opts, models: map[string]*trainingClient{}, byKey: map[key]*trainingClient{},
		replayed: make(chan struct{})}
	j.ctx, j.cancel = context.WithCancel(tinker.Promised(context.Background())) // what is logged was promised
	if err := j.recover(tinker.Promised(ctx)); err != nil {
		j.cancel()
		return nil, err
	}
	ends := j.pending()
	j.background.Go(func() {
		for _, end := range ends {
			<-end
		}
		close(j.replayed)
	})
	if opts.IdleAfter > 0 {
		j.background.Go(j.evictIdle)
	}
	return j, nil
}

// Capabilities implements tinker.Service.
func (j *Journal) Capabilities(ctx context.Context) (tinker.Capabilities, error) {
	return j.m.Capabilities(ctx)
}

// SamplingClient implements tinker.Service. Sampling has no effect to make durable.
func (j *Journal) SamplingClient(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	return j.m.SamplingClient(ctx, req)
}

// OpenModel returns the client of an existing or unloaded model; for any other id the error is tinker.ErrNotFound.
func (j *Journal) OpenModel(_ context.Context, modelID string) (tinker.TrainingClient, error) {
	if m := j.find(modelID); m != nil {
		return promised(m)
	}
	return nil, tinker.Userf("journal: model %s: %w", modelID, tinker.ErrNotFound)
}

// DeleteCheckpoint implements tinker.Service. It waits for the replay, which may save the checkpoint again. Its record
// makes the results before it durable, so that no later replay does.
func (j *Journal) DeleteCheckpoint(ctx context.Context, path string) error {
	select {
	case <-j.replayed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := j.m.DeleteCheckpoint(ctx, path); err != nil {
		return err
	}
	return j.appendSynced(recDelete, deleted{Path: path})
}

// Close snapshots every model that changed since its last snapshot, so that the next start need not replay, and
// closes the machine.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.mu.Unlock()
	var errs []error
	for _, m := range j.all() {
		if m.dirty() && !m.busy() {
			errs = append(errs, m.snapshot())
		}
	}
	j.cancel()
	errs = append(errs, j.m.Close())
	j.background.Wait()
	return errors.Join(append(errs, j.log.close())...)
}

// Cut is the number of bytes of unfinished writes that Open has cut off the log.
func (j *Journal) Cut() int64 { return j.cut }

// Heal returns nil when requests can be made durable. After a failed write it tries again.
func (j *Journal) Heal() error { return j.log.heal() }

func (j *Journal) appendSynced(kind recordKind, v any) error {
	at, err := j.log.append(kind, v)
	if err != nil {
		return err
	}
	return at.sync()
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}
