package worker

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

// recorder is an executor.Pool without executors, which notes the versions that an engine asks it about and keeps the
// blobs that it offers. Every call fails, so the engine computes it itself.
type recorder struct {
	Dir string // for the blobs

	mu       sync.Mutex
	versions []executor.Version
	errs     []error
}

var _ executor.Pool = (*recorder)(nil)

// noted are those noted, in the order of their first calls.
func (r *recorder) noted() ([]executor.Version, []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.versions, r.errs
}

func (r *recorder) note(v executor.Version) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, known := range r.versions {
		if known == v {
			return fmt.Errorf("worker: nobody computes")
		}
	}
	r.versions = append(r.versions, v)
	return fmt.Errorf("worker: nobody computes")
}

// Sample implements executor.Executor.
func (r *recorder) Sample(_ context.Context, v executor.Version, _ executor.Sample) ([]tinker.SampledSequence, error) {
	return nil, r.note(v)
}

// Forward implements executor.Executor.
func (r *recorder) Forward(_ context.Context, v executor.Version, _ executor.Batch) ([]executor.Output, error) {
	return nil, r.note(v)
}

// Gradient implements executor.Executor.
func (r *recorder) Gradient(_ context.Context, v executor.Version,
	_ executor.Batch) ([]executor.Output, executor.Gradient, error) {
	return nil, nil, r.note(v)
}

// Offer implements executor.Pool: it writes the blob to Dir under its hash.
func (r *recorder) Offer(b executor.Blob) (withdraw func()) {
	if err := r.keep(b); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, err)
	}
	return func() {}
}

func (r *recorder) keep(b executor.Blob) error {
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
		return fmt.Errorf("worker: blob %s has %d bytes with hash %s, offered with %d", b.Hash, len(content),
			executor.HashOf(content), b.Size)
	}
	return os.WriteFile(filepath.Join(r.Dir, b.Hash), content, 0o600)
}

// Path implements executor.Blobs.
func (r *recorder) Path(_ context.Context, hash string) (string, error) {
	path := filepath.Join(r.Dir, hash)
	_, err := os.Stat(path)
	return path, err
}

// Room, Executors, Speed, OwnSpeed and Changed implement executor.Pool.
func (r *recorder) Room() int                { return 1 }
func (r *recorder) Executors() int           { return 1 }
func (r *recorder) Speed() float64           { return 1 }
func (r *recorder) OwnSpeed() float64        { return 1 }
func (r *recorder) Changed() <-chan struct{} { return nil }
