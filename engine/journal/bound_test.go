package journal_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func mustOpen(t *testing.T, modelDir, dir string, fs disk.FS, o journal.Options) *journal.Journal {
	t.Helper()
	j, err := open(t, modelDir, dir, fs, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func mustBegin(t *testing.T, j *journal.Journal) *client {
	t.Helper()
	c, err := begin(j)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func must[T any](t *testing.T) func(f *tinker.Future[T], err error) T {
	return func(f *tinker.Future[T], err error) (v T) {
		t.Helper()
		if err == nil {
			v, err = f.Wait(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// A request behind a number that never came does not hold up the next start.
func TestGapBeforeDelete(t *testing.T) {
	modelDir, dir := tinyModel(t), t.TempDir()
	j := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{})
	c := mustBegin(t, j)
	path := must[tinker.SaveOutput](t)(c.m.SaveState(ctx, tinker.SaveRequest{SeqID: 1, Name: "a"})).Path
	if _, err := c.m.ForwardBackward(ctx, batch(3)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.DeleteCheckpoint(ctx, path), j.Close()); err != nil {
		t.Fatal(err)
	}
	opened := make(chan *journal.Journal)
	go func() {
		j, err := open(t, modelDir, dir, disk.OS(), journal.Options{})
		if err != nil {
			t.Error(err)
		}
		opened <- j
	}()
	select {
	case j = <-opened:
	case <-time.After(time.Minute):
		t.Fatal("the start waits for request 2, which no client has sent")
	}
	c = mustBegin(t, j)
	f, err := c.m.ForwardBackward(ctx, batch(3)) // sent again: the same one
	must[tinker.ForwardOutput](t)(c.m.ForwardBackward(ctx, batch(2)))
	must[tinker.ForwardOutput](t)(f, err)
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// Stopped at any operation, a model made from a state that was deleted later still exists or was never promised.
func TestOriginDeleted(t *testing.T) {
	modelDir := tinyModel(t)
	disktest.EveryCrash(t, func(t *testing.T, dir string) (disktest.Job, func()) {
		t.Parallel()
		var path string
		promised, deleted := false, false
		job := func(fs disk.FS) error {
			j, err := openFake(modelDir, dir, fs, journal.Options{})
			if err != nil {
				return err
			}
			c, err := begin(j)
			if err == nil && path == "" {
				var f *tinker.Future[tinker.SaveOutput]
				if f, err = c.m.SaveState(ctx, tinker.SaveRequest{SeqID: 1, Name: "a"}); err == nil {
					var out tinker.SaveOutput
					out, err = f.Wait(ctx)
					path = out.Path
				}
			}
			if err == nil && (promised || !deleted) {
				_, err = j.CreateModelFromState(ctx, tinker.CreateFromStateRequest{SessionID: "s", ModelSeqID: 1,
					Path: path})
				promised = promised || err == nil
			}
			if err == nil && !deleted {
				if err = j.DeleteCheckpoint(ctx, path); errors.Is(err, tinker.ErrNotFound) {
					err = nil // by the process that was killed
				}
				deleted = err == nil
			}
			return errors.Join(err, j.Close())
		}
		return job, func() {
			if !promised || !deleted {
				t.Errorf("promised %v, deleted %v", promised, deleted)
			}
		}
	})
}

// An idle model does not keep the log of other models.
func TestIdleModelDoesNotHoldTheLog(t *testing.T) {
	t.Parallel()
	modelDir, dir := tinyModel(t), t.TempDir()
	j := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{SnapshotAfter: time.Nanosecond, SnapshotBytes: 8 << 10})
	defer j.Close()
	c := mustBegin(t, j)
	seed := int64(4)
	idle, err := j.CreateModel(ctx, tinker.CreateModelRequest{SessionID: "idle", BaseModel: "tiny",
		LoRA: tinker.LoRA{Rank: 4, Seed: &seed, TrainAttn: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := idle.ForwardBackward(ctx, batch(2)); err != nil { // waits for request 1: it has no snapshot of its own
		t.Fatal(err)
	}
	must[tinker.ForwardOutput](t)(idle.ForwardBackward(ctx, batch(1)))
	for seq := int64(1); seq <= 100; seq++ {
		must[tinker.ForwardOutput](t)(c.m.ForwardBackward(ctx, batch(seq)))
	}
	eventually(t, "40 segments are kept", func() bool { return count(t, dir, "log-*.seg") <= 40 })
}

// count counts the files of a journal.
func count(t *testing.T, dir, pattern string) int {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "journal", pattern))
	if err != nil {
		t.Fatal(err)
	}
	return len(paths)
}

// eventually waits until something holds that no event reports.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// Results are kept up to a number of bytes, and the newest is always kept.
func TestKeepBytes(t *testing.T) {
	j := mustOpen(t, tinyModel(t), t.TempDir(), disk.OS(),
		journal.Options{SnapshotAfter: time.Nanosecond, KeepResults: 1000, KeepBytes: 1 << 10})
	defer j.Close()
	c := mustBegin(t, j)
	info, err := c.m.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	kept := func() (n int) {
		for seq := int64(1); seq <= 60; seq++ {
			if f, accepted := j.Lookup(info.ModelID, seq); f != nil {
				n++
			} else if !accepted {
				t.Fatalf("request %d is not known any more", seq)
			}
		}
		return n
	}
	for seq := int64(1); seq <= 60; seq++ {
		must[tinker.ForwardOutput](t)(c.m.ForwardBackward(ctx, batch(seq)))
	}
	eventually(t, "20 results are kept of 1 KiB", func() bool { return kept() <= 20 })
	if f, _ := j.Lookup(info.ModelID, 60); f == nil {
		t.Error("the newest result is not kept")
	}
}

// gated is a disk whose log cannot be synced behind a write while the gate is shut.
type gated struct {
	disk.FS
	gate chan struct{} // closed: open
}

type gatedFile struct {
	disk.File
	gate    chan struct{}
	written bool
}

func (g *gated) Append(path string) (disk.File, error) {
	f, err := g.FS.Append(path)
	if err == nil && strings.Contains(path, "log-") {
		return &gatedFile{File: f, gate: g.gate}, nil
	}
	return f, err
}

func (f *gatedFile) Write(b []byte) (int, error) {
	f.written = true
	return f.File.Write(b)
}

func (f *gatedFile) Sync() error {
	if f.written {
		<-f.gate
	}
	return f.File.Sync()
}

// A request that is repeated while the first one is being synced is not promised before the first.
func TestRepeatWaitsForTheDisk(t *testing.T) {
	modelDir, dir := tinyModel(t), t.TempDir()
	j := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{})
	mustBegin(t, j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	kernelPath() // its self-test polls the clock, which does not pass in a bubble
	synctest.Test(t, func(t *testing.T) {
		shut := &gated{FS: disk.OS(), gate: make(chan struct{})}
		j := mustOpen(t, modelDir, dir, shut, journal.Options{})
		c := mustBegin(t, j)
		promised := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := c.m.ForwardBackward(ctx, batch(1))
				promised <- err
			}()
		}
		synctest.Wait()
		if len(promised) > 0 {
			t.Errorf("promised before it was on the disk (%v)", <-promised)
		}
		close(shut.gate)
		for range 2 {
			if err := <-promised; err != nil {
				t.Error(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The replay of all models together is bounded, so that many models with a short replay do not delay a start.
func TestReplayOfManyModels(t *testing.T) {
	dir := t.TempDir()
	j := mustOpen(t, tinyModel(t), dir, disk.OS(), journal.Options{ReplayMax: time.Nanosecond})
	defer j.Close()
	seed := int64(4)
	for i := range int64(5) {
		m, err := j.CreateModel(ctx, tinker.CreateModelRequest{SessionID: "s", ModelSeqID: i, BaseModel: "tiny",
			LoRA: tinker.LoRA{Rank: 4, Seed: &seed, TrainAttn: true}})
		if err != nil {
			t.Fatal(err)
		}
		must[tinker.ForwardOutput](t)(m.ForwardBackward(ctx, batch(1)))
	}
	eventually(t, "all models have snapshots", func() bool { return count(t, dir, "model-*.snap") >= 5 })
}

// unwritable is a disk on which logs cannot be opened any more.
type unwritable struct{ disk.FS }

func (unwritable) Append(path string) (disk.File, error) { return nil, errors.New("read-only") }

func TestLogThatCannotBeOpened(t *testing.T) {
	modelDir, dir := tinyModel(t), t.TempDir()
	j := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{})
	must[tinker.ForwardOutput](t)(mustBegin(t, j).m.ForwardBackward(ctx, batch(1)))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, modelDir, dir, unwritable{disk.OS()}, journal.Options{}); err == nil ||
		!strings.Contains(err.Error(), "read-only") {
		t.Errorf("a log that cannot be opened: %v", err)
	}
}
