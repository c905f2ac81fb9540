package buffer

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Groups that come while another is written share one sync; each is there when its Put has returned, and if the disk is full each says so.
func TestManyPutsShareASync(t *testing.T) {
	for name, full := range map[string]bool{"room": false, "no room": true} {
		t.Run(name, func(t *testing.T) {
			dir, wrong := filepath.Join(t.TempDir(), "explored"), errors.New("disk full")
			var mu sync.Mutex
			held, first, writes := make(chan struct{}), make(chan struct{}), 0
			s := openStore(t, dir, func(op, _ string) error {
				mu.Lock()
				defer mu.Unlock()
				if op != "write" {
					return nil
				}
				if writes++; writes == 1 {
					close(first)
					mu.Unlock()
					<-held
					mu.Lock()
				} else if full {
					return wrong
				}
				return nil
			})
			var wait sync.WaitGroup
			errs := make([]error, 64)
			for i := range errs {
				if i == 1 {
					<-first
				}
				wait.Go(func() { errs[i] = s.Put(record(1, fmt.Sprint(i))) })
			}
			for waits(s) < len(errs)-1 {
				time.Sleep(time.Millisecond)
			}
			if s.Has(1, "5") {
				t.Error("a group is said to be stored that waits")
			}
			close(held)
			wait.Wait()
			if writes != 2 {
				t.Errorf("%d groups took %d writes, want 2: the first, and the others that came meanwhile", len(errs), writes)
			}
			for i, err := range errs {
				if failed := full && i > 0; failed != errors.Is(err, wrong) || failed == s.Has(1, fmt.Sprint(i)) {
					t.Fatalf("group %d: %v, stored: %v", i, err, s.Has(1, fmt.Sprint(i)))
				}
			}
		})
	}
}

// waits is how many groups of step 1 wait for being written.
func waits(s *Store) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seg := s.segments[1]; seg != nil {
		return len(seg.queue)
	}
	return 0
}
