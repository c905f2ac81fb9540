package synchronizer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// A version that is older than the newest and not there does not come any more, unless it was promised.
func TestGoneVersionsEndAWaitAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Schedule{Interval: 1, Offset: 1}, time.Hour)
		s.Promise(3)
		s.Publish(0, "")
		s.Publish(4, "four")
		begin := time.Now()
		_, _, err := s.Next(t.Context(), 4) // version 2
		if !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "version 2") ||
			!strings.Contains(err.Error(), "sync_offset=0") || time.Since(begin) != 0 {
			t.Errorf("error %v after %v, want at once one that names the version and the remedy", err,
				time.Since(begin))
		}
		if s.Expected(2) || !s.Expected(3) || !s.Expected(4) {
			t.Errorf("expected are 2: %v, 3: %v, 4: %v; want the last two", s.Expected(2), s.Expected(3), s.Expected(4))
		}
		go func() {
			time.Sleep(time.Minute)
			s.Publish(3, "three")
		}()
		next(t, s, 5, 3, "three")
		go func() {
			time.Sleep(time.Minute)
			s.Publish(6, "six") // 5 is passed over while somebody waits for it
		}()
		if _, err := s.Wait(t.Context(), 5); !errors.Is(err, ErrGone) {
			t.Errorf("error %v, want ErrGone", err)
		}
	})
}

// An explorer in a process of its own hears of versions in their order, however many there are at once: none is taken
// for gone.
func TestFollowTellsInOrder(t *testing.T) {
	dir := t.TempDir()
	for _, version := range []string{"2", "9", "10", "11"} {
		step := filepath.Join(dir, "global_step_"+version)
		if err := os.MkdirAll(step, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(step, "remote_sampler_path.txt"), []byte("path of "+version),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		s := New(Schedule{Interval: 1}, time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- Folder{disk.OS(), dir}.Follow(ctx, s, func(context.Context) (int, error) { return 0, nil })
		}()
		if path, err := s.Wait(t.Context(), 9); path != "path of 9" || err != nil {
			t.Fatalf("version 9 is at %q, %v", path, err)
		}
		if _, err := s.Wait(t.Context(), 5); !errors.Is(err, ErrGone) {
			t.Fatalf("version 5: error %v, want ErrGone", err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// In a driven style a step whose weights are gone samples with the newest, and that is written down.
func TestDrivenPassesOverGoneWeights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "order.jsonl")
	o := openOrder(t, path)
	s := NewStyle(TrainerDriven, Schedule{Interval: 3, Offset: 1}, time.Minute, o)
	s.Publish(0, "")
	s.Publish(1, "one")
	next(t, s, 3, 1, "one")
	o.Close()
	s = NewStyle(TrainerDriven, Schedule{Interval: 3, Offset: 1}, time.Minute, openOrder(t, path))
	s.Publish(3, "three")
	next(t, s, 4, 3, "three") // not due
	if v, ok := s.order.Version(4); v != 3 || !ok {
		t.Errorf("step 4 is noted with version %d, %v", v, ok)
	}
}

// publish writes the path of a version's weights where a trainer does, whole or not at all.
func publish(t *testing.T, dir, version, path string) {
	step := filepath.Join(dir, "global_step_"+version)
	if err := errors.Join(os.MkdirAll(step, 0o755),
		disk.WriteFile(disk.OS(), filepath.Join(step, "remote_sampler_path.txt"), []byte(path))); err != nil {
		t.Error(err)
	}
}

// A trainer that went back deletes weights and publishes them anew under another path: who follows it hears of both,
// and asks for them there.
func TestFollowHearsOfReplacedWeights(t *testing.T) {
	dir := t.TempDir()
	publish(t, dir, "1", "old one")
	publish(t, dir, "2", "old two")
	s := New(Schedule{Interval: 1}, time.Minute)
	s.Publish(0, "")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- Folder{FS: disk.OS(), Dir: dir}.Follow(ctx, s, func(context.Context) (int, error) { return 0, nil })
	}()
	next(t, s, 3, 2, "old two")
	if err := os.RemoveAll(filepath.Join(dir, "global_step_2")); err != nil {
		t.Fatal(err)
	}
	if !s.Replaced(t.Context(), 2, "old two") {
		t.Error("weights that were deleted count as there")
	}
	go publish(t, dir, "2", "new two")
	next(t, s, 3, 2, "new two")
	next(t, s, 1, 0, "")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A trainer that waits for the experiences which the explorer is putting does not wait for more: they may be put
// between the moment that they are counted and the moment that the count is compared.
func TestFollowCountsWhatIsPutMeanwhile(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := Folder{FS: disk.OS(), Dir: dir}
		if err := f.WriteTrainer(TrainerStatus{State: Running, Idle: true}); err != nil {
			t.Fatal(err)
		}
		s := New(Schedule{Interval: 1}, time.Hour)
		s.Publish(0, "")
		ctx, cancel := context.WithCancel(t.Context())
		done, counted := make(chan error), 0
		go func() {
			done <- f.Follow(ctx, s, func(context.Context) (int, error) {
				n := counted
				counted = 4
				s.SetIdle(false) // as the explorer's Put does, before and after
				return n, nil
			})
		}()
		go func() {
			time.Sleep(time.Minute)
			publish(t, dir, "1", "one") // Follow forgets what is published elsewhere
		}()
		next(t, s, 2, 1, "one")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
