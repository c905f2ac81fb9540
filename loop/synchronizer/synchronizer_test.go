package synchronizer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestVersion(t *testing.T) {
	for _, tt := range []struct {
		s    Schedule
		want []int // of steps 1, 2, …
	}{
		{Schedule{Interval: 1}, []int{0, 1, 2, 3, 4, 5}},
		{Schedule{Interval: 1, Offset: 1}, []int{0, 0, 1, 2, 3, 4}},
		{Schedule{Interval: 2}, []int{0, 0, 2, 2, 4, 4}},
		{Schedule{Interval: 2, Offset: 1}, []int{0, 0, 0, 2, 2, 4}},
		{Schedule{Interval: 3, Offset: 2}, []int{0, 0, 0, 0, 0, 3}},
		{Schedule{Interval: 1, Publish: 2}, []int{0, 0, 2, 2, 4, 4}},
		{Schedule{Interval: 2, Publish: 1}, []int{0, 0, 2, 2, 4, 4}},
		{Schedule{Interval: 2, Publish: 3}, []int{0, 0, 0, 0, 3, 3, 6, 6, 6, 6, 9}}, // nothing new at steps 3 and 9
	} {
		var got []int
		for step := 1; step <= len(tt.want); step++ {
			v := tt.s.Version(step)
			got = append(got, v)
			if v > 0 && !tt.s.Publishes(v) {
				t.Errorf("%+v: step %d asks for version %d, which is never published", tt.s, step, v)
			}
			if v >= step {
				t.Errorf("%+v: step %d asks for version %d: the trainer would wait for the explorer and it for the "+
					"trainer", tt.s, step, v)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v: versions %v, want %v", tt.s, got, tt.want)
		}
	}
}

func TestWaitForPublication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Schedule{Interval: 1}, time.Hour)
		s.Publish(0, "")
		go func() {
			time.Sleep(30 * time.Minute)
			s.Publish(1, "one")
			s.Publish(2, "two")
		}()
		if path, err := s.Wait(t.Context(), 1); path != "one" || err != nil {
			t.Errorf("Wait(1) = %q, %v: a later version must not take an earlier one's place", path, err)
		}
		if path, err := s.Wait(t.Context(), 0); path != "" || err != nil {
			t.Errorf("Wait(0) = %q, %v", path, err)
		}
	})
}

func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Schedule{Interval: 1}, time.Hour)
		if _, err := s.Wait(t.Context(), 4); err == nil ||
			!strings.Contains(err.Error(), "version 4 was not published within 1h") {
			t.Errorf("timeout: %v", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		go cancel(gone)
		if _, err := s.Wait(ctx, 4); !errors.Is(err, gone) {
			t.Errorf("cancelled: %v", err)
		}
		go s.Stop()
		if _, err := s.Wait(t.Context(), 4); !errors.Is(err, ErrStopped) {
			t.Errorf("stopped: %v", err)
		}
		s.Stop() // twice is harmless
	})
}

func TestRetire(t *testing.T) {
	s := New(Schedule{Interval: 1}, 0)
	for v, path := range []string{"", "a", "b", "c"} {
		s.Publish(v, path)
	}
	if got := s.Retire(3, nil); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("Retire(3) = %v", got)
	}
	if got := s.Retire(3, nil); got != nil {
		t.Errorf("a second Retire(3) = %v", got)
	}
	if path, err := s.Wait(t.Context(), 3); path != "c" || err != nil {
		t.Errorf("Wait(3) = %q, %v", path, err)
	}
	s.Publish(4, "d")
	if got := s.Retire(5, func(version int) bool { return version == 3 }); !slices.Equal(got, []string{"d"}) {
		t.Errorf("Retire(5) but 3 = %v", got)
	}
	if path, err := s.Wait(t.Context(), 3); path != "c" || err != nil {
		t.Errorf("the version that was spared: %q, %v", path, err)
	}
}
