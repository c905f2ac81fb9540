package journal_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// After a full disk the journal continues as soon as there is room, without a restart and with the answers of an
// unbroken run.
func TestFullDiskHeals(t *testing.T) {
	t.Parallel()
	modelDir := tinyModel(t)
	var want []string
	whole := mustOpen(t, modelDir, t.TempDir(), disk.OS(), journal.Options{})
	if err := script(whole, &want); err != nil {
		t.Fatal(err)
	}
	whole.Close()

	d := &disktest.Full{FS: disk.OS()}
	dir := t.TempDir()
	j := mustOpen(t, modelDir, dir, d, journal.Options{})
	c := mustBegin(t, j)
	for seq := int64(1); seq <= ops; seq++ {
		d.Now.Store(true)
		if _, err := c.do(seq); err == nil || !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
			t.Fatalf("request %d on a full disk: %v", seq, err)
		}
		if err := j.Heal(); err == nil {
			t.Errorf("request %d: healthy on a full disk", seq)
		}
		d.Now.Store(false)
		if got, err := c.do(seq); err != nil || got != want[seq-1] { // the client sends it again
			t.Fatalf("request %d: %s, %v; want %s", seq, got, err, want[seq-1])
		}
		if err := j.Heal(); err != nil {
			t.Errorf("request %d: %v after there was room", seq, err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{})
	defer again.Close()
	c = mustBegin(t, again)
	for seq := int64(1); seq <= ops; seq++ {
		if got, err := c.do(seq); err != nil || got != want[seq-1] {
			t.Fatalf("request %d after a start: %s, %v; want %s", seq, got, err, want[seq-1])
		}
	}
}

// A request that is not sent again is executed too.
func TestAcceptedWhileFull(t *testing.T) {
	d := &disktest.Full{FS: disk.OS()}
	j := mustOpen(t, tinyModel(t), t.TempDir(), d, journal.Options{})
	defer j.Close()
	c := mustBegin(t, j)
	d.Now.Store(true)
	if _, err := c.do(1); err == nil {
		t.Fatal("accepted on a full disk")
	}
	d.Now.Store(false)
	eventually(t, "the request is executed", func() bool {
		f, accepted := j.Lookup("s:train:0", 1)
		if !accepted {
			t.Fatal("forgotten")
		}
		if future, ok := f.(interface{ Done() <-chan struct{} }); ok {
			select {
			case <-future.Done():
				return true
			default:
			}
		}
		return false
	})
}
