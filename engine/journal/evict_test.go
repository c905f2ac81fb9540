package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A model may be evicted between any two requests, and is after a start: the answers are those of a model that stayed
// in memory.
func TestEvictionChangesNothing(t *testing.T) {
	modelDir := tinyModel(t)
	var want []string
	whole := mustOpen(t, modelDir, t.TempDir(), disk.OS(), journal.Options{})
	if err := script(whole, &want); err != nil {
		t.Fatal(err)
	}
	whole.Close()

	dir := t.TempDir()
	j := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{})
	c := mustBegin(t, j)
	for seq := int64(1); seq <= ops; seq++ {
		if got, err := c.do(seq); err != nil || got != want[seq-1] {
			t.Fatalf("request %d: %s, %v; want %s", seq, got, err, want[seq-1])
		}
		if err := j.Evict("s:train:0"); err != nil {
			t.Fatal(err)
		}
		if evicted, all := j.Evicted(); evicted != 1 || all != 1 {
			t.Fatalf("request %d: %d of %d are evicted", seq, evicted, all)
		}
		if info, err := c.m.Info(ctx); err != nil || info.NextSeqID != seq+1 || info.LoRA.Rank != 4 {
			t.Fatalf("an evicted model is %+v, %v", info, err)
		}
		if f, accepted := j.Lookup("s:train:0", seq); f == nil || !accepted || !j.Accepted("s:train:0", seq) ||
			j.Accepted("s:train:0", seq+1) {
			t.Fatalf("request %d of an evicted model: %v, %v", seq, f, accepted)
		}
		if evicted, _ := j.Evicted(); evicted != 1 {
			t.Error("queries restored it")
		}
		if seq%4 == 0 {
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			j = mustOpen(t, modelDir, dir, disk.OS(), journal.Options{})
			if evicted, all := j.Evicted(); evicted != 1 || all != 1 {
				t.Fatalf("after a start %d of %d are evicted", evicted, all)
			}
			c = mustBegin(t, j)
		}
	}
	for seq := int64(1); seq <= ops; seq++ { // each again, after an eviction
		j.Evict("s:train:0")
		if got, err := c.do(seq); err != nil || got != want[seq-1] {
			t.Fatalf("request %d once more: %s, %v; want %s", seq, got, err, want[seq-1])
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// Requests and evictions at the same time.
func TestEvictionAndWork(t *testing.T) {
	j := mustOpen(t, tinyModel(t), t.TempDir(), disk.OS(), journal.Options{IdleAfter: time.Millisecond})
	defer j.Close()
	var stop atomic.Bool
	over := make(chan error, 1)
	go func() {
		var err error
		for !stop.Load() && err == nil {
			_, err = j.EvictOldest()
		}
		over <- err
	}()
	var want []string
	for i := range 3 {
		seed := int64(3)
		m, err := j.CreateModel(ctx, tinker.CreateModelRequest{SessionID: "s", ModelSeqID: int64(i), BaseModel: "tiny",
			LoRA: tinker.LoRA{Rank: 4, Seed: &seed, TrainAttn: true, TrainMLP: true, TrainUnembed: true}})
		if err != nil {
			t.Fatal(err)
		}
		c := &client{j, m}
		for seq := int64(1); seq <= ops; seq++ {
			got, err := c.do(seq)
			if err != nil {
				t.Fatal(err)
			}
			got = strings.ReplaceAll(got, fmt.Sprintf("train:%d", i), "train:N")
			if i == 0 {
				want = append(want, got)
			} else if got != want[seq-1] {
				t.Errorf("model %d, request %d: %s, want %s", i, seq, got, want[seq-1])
			}
		}
	}
	stop.Store(true)
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// A model without requests is evicted by itself.
func TestIdleModelsAreEvicted(t *testing.T) {
	j := mustOpen(t, tinyModel(t), t.TempDir(), disk.OS(), journal.Options{IdleAfter: 20 * time.Millisecond})
	defer j.Close()
	c := mustBegin(t, j)
	if _, err := c.do(1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it leaves memory", func() bool { evicted, _ := j.Evicted(); return evicted == 1 })
	if _, err := c.do(2); err != nil {
		t.Fatal(err)
	}
}

// countingFS counts the files created in the folder of checkpoints.
type countingFS struct {
	disk.FS
	saves   atomic.Int64
	refuses atomic.Bool
}

func (d *countingFS) Create(path string) (disk.File, error) {
	if strings.Contains(path, string(filepath.Separator)+"checkpoints"+string(filepath.Separator)) &&
		!strings.HasSuffix(filepath.Dir(path), "checkpoints") {
		d.saves.Add(1)
		if d.refuses.Load() {
			return nil, os.ErrPermission
		}
	}
	return d.FS.Create(path)
}

// A failed save stays failed: no later start tries it again. A save that succeeded is not executed twice either.
func TestFailedSaveStaysFailed(t *testing.T) {
	modelDir, dir := tinyModel(t), t.TempDir()
	d := &countingFS{FS: disk.OS()}
	j := mustOpen(t, modelDir, dir, d, journal.Options{SnapshotAfter: time.Hour})
	c := mustBegin(t, j)
	want := []string{}
	for seq := int64(1); seq <= 8; seq++ {
		d.refuses.Store(seq == 6)
		got, err := c.do(seq)
		if failed := err != nil; failed != (seq == 6) {
			t.Fatalf("request %d: %v", seq, err)
		}
		want = append(want, got)
	}
	if _, err := outcome(c.m.SaveState(ctx, tinker.SaveRequest{SeqID: 9, Name: "late"})); err != nil {
		t.Fatal(err)
	}
	if _, err := outcome(c.m.Forward(ctx, batch(10))); err != nil { // writes the results before it
		t.Fatal(err)
	}
	d.saves.Store(0)
	for start := range 3 {
		copied := asKilled(t, dir) // without the snapshot of a close
		again := mustOpen(t, modelDir, copied, d, journal.Options{SnapshotAfter: time.Hour})
		c := mustBegin(t, again)
		if _, err := c.do(6); err == nil || !strings.Contains(err.Error(), "permission") {
			t.Errorf("start %d: the save that failed: %v", start, err)
		}
		if got, err := c.do(8); err != nil || got != want[7] {
			t.Errorf("start %d: %s, %v; want %s", start, got, err, want[7])
		}
		again.Close()
	}
	if n := d.saves.Load(); n != 0 {
		t.Errorf("three starts wrote %d files of checkpoints", n)
	}
	j.Close()
}
