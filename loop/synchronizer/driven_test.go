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

func openOrder(t *testing.T, path string) *Order {
	t.Helper()
	o, err := OpenOrder(disk.OS(), path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

func next(t *testing.T, s *Synchronizer, step, version int, path string) {
	t.Helper()
	v, p, err := s.Next(t.Context(), step)
	if v != version || p != path || err != nil {
		t.Errorf("step %d samples with version %d at %q, %v; want %d at %q", step, v, p, err, version, path)
	}
}

// The explorer takes the newest weights when it is due, not those of a schedule, and keeps what it has in between.
func TestDrivenTakesTheNewest(t *testing.T) {
	s := NewStyle(TrainerDriven, Schedule{Interval: 2, Offset: 1}, time.Minute,
		openOrder(t, filepath.Join(t.TempDir(), "order.jsonl")))
	s.Publish(0, "")
	next(t, s, 1, 0, "")
	s.Publish(4, "four")
	next(t, s, 2, 0, "")
	next(t, s, 3, 0, "")
	s.Publish(6, "six")
	next(t, s, 4, 6, "six") // (4-1-1) is the first multiple of the interval
	next(t, s, 5, 6, "six")
	if n := s.Needed(3); n != 0 {
		t.Errorf("version %d is needed for step 3, want 0", n)
	}
	if n := s.Needed(9); n != 6 {
		t.Errorf("version %d is needed after the last step, want 6", n)
	}
}

// When the explorer is due and has the newest weights, it waits while the trainer is at work, and not when that waits
// for it.
func TestDrivenWaitsForATrainerAtWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "order.jsonl")
	synctest.Test(t, func(t *testing.T) {
		s := NewStyle(ExplorerDriven, Schedule{Interval: 1}, time.Hour, openOrder(t, path))
		var told []ExplorerStatus
		s.Tell = func(e ExplorerStatus) error { told = append(told, e); return nil }
		s.Publish(0, "")
		next(t, s, 1, 0, "")
		go func() {
			time.Sleep(time.Minute)
			if !s.Asks() {
				t.Error("the explorer waits and does not ask")
			}
			s.Publish(1, "one")
		}()
		next(t, s, 2, 1, "one")
		if s.Asks() {
			t.Error("the explorer still asks")
		}
		if len(told) != 3 || !told[1].Asks || told[1].Version != 0 || told[2] != (ExplorerStatus{Step: 2, Version: 1}) {
			t.Errorf("it told %+v", told)
		}
		s.SetIdle(true)
		next(t, s, 3, 1, "one")
		s.SetIdle(false)
		begin := time.Now()
		if _, _, err := s.Next(t.Context(), 4); err == nil || !strings.Contains(err.Error(), "sync_timeout") ||
			time.Since(begin) != time.Hour {
			t.Errorf("error %v after %v, want one that names sync_timeout after an hour", err, time.Since(begin))
		}
		s.Stop()
		if _, _, err := s.Next(t.Context(), 4); !errors.Is(err, ErrStopped) {
			t.Errorf("error %v, want that the trainer stopped", err)
		}
	})
}

// A restarted run samples a step with the version that was chosen for it, though there are newer ones by now.
func TestOrderIsKeptTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log", "order.jsonl")
	o := openOrder(t, path)
	s := NewStyle(TrainerDriven, Schedule{Interval: 1}, time.Minute, o)
	s.Publish(0, "")
	s.Publish(3, "three")
	next(t, s, 2, 3, "three")
	if err := o.Note("trained", 4, 0, "a detail"); err != nil {
		t.Fatal(err)
	}
	o.Close()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"event":"sampled","step":7,"ver`) // a crash
	f.Close()
	s = NewStyle(TrainerDriven, Schedule{Interval: 1}, time.Minute, openOrder(t, path))
	s.Publish(3, "three")
	s.Publish(5, "five")
	next(t, s, 2, 3, "three")
	next(t, s, 3, 5, "five")
	text, _ := os.ReadFile(path)
	if n := strings.Count(string(text), "\n"); n != 3 || strings.Contains(string(text), `"ver}`) {
		t.Errorf("the log is\n%s", text)
	}
	if err := os.WriteFile(path, []byte("nonsense\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenOrder(disk.OS(), path, time.Now); err == nil || !strings.Contains(err.Error(), "line 1 of") {
		t.Errorf("error %v of a damaged log", err)
	}
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "grpo[1]") // not a pattern
	f := Folder{disk.OS(), dir}
	if _, ok, err := f.Trainer(); ok || err != nil {
		t.Errorf("a trainer that never was: %v, %v", ok, err)
	}
	for _, version := range []string{"2", "4"} {
		step := filepath.Join(dir, "global_step_"+version)
		if err := os.MkdirAll(step, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(step, "remote_sampler_path.txt"), []byte("path of "+version),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []struct {
		name string
		s    ExplorerStatus
	}{{"a", ExplorerStatus{Step: 3, Version: 2, Asks: true}}, {"b", ExplorerStatus{Step: 1}}} {
		if err := f.WriteExplorer(e.name, e.s); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := f.Explorers(); err != nil || len(list) != 2 || list[0] != (ExplorerStatus{3, 2, true}) {
		t.Errorf("explorers %+v, %v", list, err)
	}
	if err := f.WriteTrainer(TrainerStatus{State: Running, Step: 4, Idle: true, Seen: 8}); err != nil {
		t.Fatal(err)
	}

	// An explorer of another process hears of the versions, and of an idle trainer only when that has seen everything.
	s := NewStyle(ExplorerDriven, Schedule{Interval: 1}, time.Minute, openOrder(t, filepath.Join(dir, "order.jsonl")))
	s.Publish(0, "")
	ctx, cancel := context.WithCancel(t.Context())
	put, done := 8, make(chan error)
	go func() { done <- f.Follow(ctx, s, func(context.Context) (int, error) { return put, nil }) }()
	if path, err := s.Wait(t.Context(), 4); path != "path of 4" || err != nil {
		t.Errorf("version 4 is at %q, %v", path, err)
	}
	next(t, s, 2, 4, "path of 4")
	next(t, s, 3, 4, "path of 4") // the trainer is idle
	if err := f.WriteTrainer(TrainerStatus{State: Done, Step: 4, Idle: true, Seen: 7}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(t.Context(), 9); !errors.Is(err, ErrStopped) {
		t.Errorf("error %v, want that the trainer is done", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
