package buffer

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Groups that come while another is written share one sync; each is there when its Put has returned, and if the disk is
// full each says so.
func TestManyPutsShareASync(t *testing.T) {
	for name, full := range map[string]bool{"room": false, "no room": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { putTogether(t, full) })
		})
	}
}

func putTogether(t *testing.T, full bool) {
	dir, wrong := filepath.Join(t.TempDir(), "explored"), errors.New("disk full")
	var mu sync.Mutex
	held, first, writes := make(chan struct{}), make(chan struct{}), 0
	s := openStore(t, dir, &onWrite{disk.OS(), func() error {
		mu.Lock()
		defer mu.Unlock()
		if writes++; writes == 1 {
			close(first)
			mu.Unlock()
			<-held
			mu.Lock()
		} else if full {
			return wrong
		}
		return nil
	}})
	var wait sync.WaitGroup
	errs := make([]error, 64)
	for i := range errs {
		if i == 1 {
			<-first
		}
		wait.Go(func() { errs[i] = s.Put(record(1, fmt.Sprint(i))) })
	}
	synctest.Wait() // all others wait for the first one's write
	if s.Has(1, "5") {
		t.Error("a group is said to be stored that waits")
	}
	close(held)
	wait.Wait()
	if writes != 2 {
		t.Errorf("%d groups took %d writes, want 2: the first, and the others that came meanwhile", len(errs),
			writes)
	}
	for i, err := range errs {
		if failed := full && i > 0; failed != errors.Is(err, wrong) || failed == s.Has(1, fmt.Sprint(i)) {
			t.Fatalf("group %d: %v, stored: %v", i, err, s.Has(1, fmt.Sprint(i)))
		}
	}
}

// onWrite calls f before every write to a log.
type onWrite struct {
	disk.FS
	f func() error
}

func (d *onWrite) Append(path string) (disk.File, error) {
	f, err := d.FS.Append(path)
	return &writtenFile{f, d.f}, err
}

type writtenFile struct {
	disk.File
	f func() error
}

func (w *writtenFile) Write(b []byte) (int, error) {
	if err := w.f(); err != nil {
		return 0, err
	}
	return w.File.Write(b)
}
