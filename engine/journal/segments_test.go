package journal_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// unsyncable is a disk that cannot sync what is written to the second segment of a log.
type unsyncable struct{ disk.FS }

type unsyncableFile struct {
	disk.File
	written bool
}

func (d unsyncable) Append(path string) (disk.File, error) {
	f, err := d.FS.Append(path)
	if err == nil && filepath.Base(path) == "log-00000002.seg" {
		return &unsyncableFile{File: f}, nil
	}
	return f, err
}

func (f *unsyncableFile) Write(b []byte) (int, error) {
	f.written = true
	return f.File.Write(b)
}

func (f *unsyncableFile) Sync() error {
	if f.written {
		return errors.New("no space for the second segment")
	}
	return f.File.Sync()
}

// After a failed rotation the log goes on in the old segment, and the next start reads all of it.
func TestFailedRotation(t *testing.T) {
	t.Parallel()
	modelDir, dir := tinyModel(t), t.TempDir()
	failed := make(chan string, 100)
	o := journal.Options{SnapshotAfter: time.Nanosecond, Warn: func(msg string) { failed <- msg }}
	j := mustOpen(t, modelDir, dir, unsyncable{disk.OS()}, o)
	c := mustBegin(t, j)
	var want []string
	for seq := int64(1); seq <= 4; seq++ {
		got, err := c.do(seq)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, got)
		select {
		case msg := <-failed:
			if !strings.Contains(msg, "second segment") {
				t.Fatalf("the snapshot after request %d: %s", seq, msg)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no rotation failed after request %d", seq)
		}
	}
	killed := asKilled(t, dir)
	j.Close()
	for range 2 {
		again := mustOpen(t, modelDir, killed, disk.OS(), journal.Options{SnapshotAfter: time.Nanosecond})
		c := mustBegin(t, again)
		for seq := int64(1); seq <= 4; seq++ {
			if got, err := c.do(seq); err != nil || got != want[seq-1] {
				t.Errorf("request %d after a start: %s, %v; want %s", seq, got, err, want[seq-1])
			}
		}
		if _, err := c.do(5); err != nil {
			t.Error(err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
