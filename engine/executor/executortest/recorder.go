package executortest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Recorder is an executor.Pool without executors, which notes the versions that an engine asks it about and keeps the
// blobs that it offers. Every call fails, so the engine computes it itself.
type Recorder struct {
	Dir string // for the blobs

	mu       sync.Mutex
	versions []executor.Version
	errs     []error
}

var _ executor.Pool = (*Recorder)(nil)

// Versions are those noted, in the order of their first calls.
func (r *Recorder) Versions() ([]executor.Version, []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.versions, r.errs
}

func (r *Recorder) note(v executor.Version) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, known := range r.versions {
		if known == v {
			return fmt.Errorf("executortest: nobody computes")
		}
	}
	r.versions = append(r.versions, v)
	return fmt.Errorf("executortest: nobody computes")
}

// Sample implements executor.Executor.
func (r *Recorder) Sample(_ context.Context, v executor.Version, _ executor.Sample) ([]tinker.SampledSequence, error) {
	return nil, r.note(v)
}

// Forward implements executor.Executor.
func (r *Recorder) Forward(_ context.Context, v executor.Version, _ executor.Batch) ([]executor.Output, error) {
	return nil, r.note(v)
}

// Gradient implements executor.Executor.
func (r *Recorder) Gradient(_ context.Context, v executor.Version,
	_ executor.Batch) ([]executor.Output, executor.Gradient, error) {
	return nil, nil, r.note(v)
}

// Offer implements executor.Pool: it writes the blob to Dir under its hash.
func (r *Recorder) Offer(b executor.Blob) (withdraw func()) {
	if err := r.keep(b); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, err)
	}
	return func() {}
}

func (r *Recorder) keep(b executor.Blob) error {
	in, err := b.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	content, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if executor.HashOf(content) != b.Hash || int64(len(content)) != b.Size {
		return fmt.Errorf("executortest: blob %s has %d bytes with hash %s, offered with %d", b.Hash, len(content),
			executor.HashOf(content), b.Size)
	}
	return os.WriteFile(filepath.Join(r.Dir, b.Hash), content, 0o600)
}

// Path implements executor.Blobs.
func (r *Recorder) Path(_ context.Context, hash string) (string, error) {
	path := filepath.Join(r.Dir, hash)
	_, err := os.Stat(path)
	return path, err
}

// Room, Executors, Speed, OwnSpeed and Changed implement executor.Pool.
func (r *Recorder) Room() int                { return 1 }
func (r *Recorder) Executors() int           { return 1 }
func (r *Recorder) Speed() float64           { return 1 }
func (r *Recorder) OwnSpeed() float64        { return 1 }
func (r *Recorder) Changed() <-chan struct{} { return nil }
