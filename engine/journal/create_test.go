package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// snapless is a disk that refuses snapshots for a while.
type snapless struct {
	disk.FS
	now atomic.Bool
}

func (d *snapless) Create(path string) (disk.File, error) {
	if d.now.Load() && strings.Contains(path, ".snap") {
		return nil, syscall.ENOSPC
	}
	return d.FS.Create(path)
}

// A model whose creation failed behind its record is found by the same request, also one that leaves the seed open.
func TestCreateAgainAfterAFullDisk(t *testing.T) {
	modelDir, dir := tinyModel(t), t.TempDir()
	d := &disktest.Full{FS: disk.OS()}
	j := mustOpen(t, modelDir, dir, d, journal.Options{})
	req := tinker.CreateModelRequest{SessionID: "s", BaseModel: "tiny", LoRA: tinker.LoRA{Rank: 4, TrainAttn: true}}
	d.Now.Store(true)
	if _, err := j.CreateModel(ctx, req); err == nil {
		t.Fatal("created on a full disk")
	}
	if _, err := j.OpenModel(ctx, "s:train:0"); err == nil {
		t.Error("a model was promised that is not on the disk")
	}
	d.Now.Store(false)
	m, err := j.CreateModel(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	want := must[tinker.ForwardOutput](t)(m.Forward(ctx, batch(1))).Metrics["loss:sum"]
	killed := asKilled(t, dir)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, modelDir, killed, disk.OS(), journal.Options{})
	defer again.Close()
	if m, err = again.CreateModel(ctx, req); err != nil {
		t.Fatal(err)
	}
	if got := must[tinker.ForwardOutput](t)(m.Forward(ctx, batch(1))).Metrics["loss:sum"]; got != want {
		t.Errorf("after a start the loss is %v, want %v", got, want)
	}
}

// A model whose first snapshot failed does not keep the log of other models. It is promised once it has a snapshot.
func TestFailedCreationDoesNotHoldTheLog(t *testing.T) {
	modelDir, dir := tinyModel(t), t.TempDir()
	d := &snapless{FS: disk.OS()}
	o := journal.Options{SnapshotAfter: time.Nanosecond, SnapshotBytes: 8 << 10}
	j := mustOpen(t, modelDir, dir, d, o)
	defer j.Close()
	c := mustBegin(t, j)
	path := must[tinker.SaveOutput](t)(c.m.SaveState(ctx, tinker.SaveRequest{SeqID: 1, Name: "a"})).Path
	req := tinker.CreateFromStateRequest{SessionID: "s", ModelSeqID: 1, Path: path}
	d.now.Store(true)
	for range 2 {
		if _, err := j.CreateModelFromState(ctx, req); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("created without a snapshot: %v", err)
		}
	}
	d.now.Store(false)
	for seq := int64(2); seq <= 60; seq++ {
		must[tinker.ForwardOutput](t)(c.m.ForwardBackward(ctx, batch(seq)))
	}
	oldest := filepath.Join(dir, "journal", "log-00000001.seg")
	eventually(t, "the first segment of the log is gone", func() bool {
		_, err := os.Stat(oldest)
		return errors.Is(err, os.ErrNotExist)
	})
	if _, err := j.CreateModelFromState(ctx, req); err != nil {
		t.Error(err)
	}
}
