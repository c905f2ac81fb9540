package buffer

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

func TestStoreForget(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, disktest.Held{FS: disk.OS()})
	mustPut(t, s, record(1, "a"), Record{Step: 1, Task: "b"}, Record{Step: 1, Task: "c"}, record(2, "b"))
	if err := s.Forget(1, []string{"b", "c"}); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, record(1, "b"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir, nil)
	want := map[string]Record{"a": record(1, "a"), "b": record(1, "b")}
	if got, err := s.Load(1); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("step 1 has %v, %v; want %v", got, err, want)
	}
	if !s.Has(2, "b") || s.Has(1, "c") {
		t.Errorf("step 2 has %v, step 1 %v; want b, and a and b", s.Tasks(2), s.Tasks(1))
	}
	if err := s.Forget(1, []string{"z"}); err == nil || !strings.Contains(err.Error(), `"z"`) {
		t.Errorf("error %v, want one that names the group", err)
	}
	if err := s.Forget(7, nil); err != nil {
		t.Errorf("nothing of no step: %v", err)
	}
}

// A group that an older version stored with a reward that training can't use is empty, and its reason is said. If no
// other group is left, the step begins anew.
func TestResumeLeavesPoisonOut(t *testing.T) {
	s := openStore(t, t.TempDir(), nil)
	poison, alone := record(1, "b"), record(2, "a")
	poison.Experiences[0].SetReward(1e300)
	alone.Experiences[0].SetReward(math.Inf(1))
	mustPut(t, s, record(1, "a"), poison, alone)
	var said []string
	warn := func(text string) { said = append(said, text) }
	groups, err := s.Resume(1, warn)
	if err != nil || len(groups) != 2 || len(groups["a"].Experiences) == 0 || len(groups["b"].Experiences) != 0 {
		t.Errorf("groups %v, %v; want a, and b without experiences", groups, err)
	}
	if len(said) != 1 || !strings.Contains(said[0], `"b" is left out: experience`) ||
		!strings.Contains(said[0], "its reward is 1e+300") {
		t.Errorf("said %q", said)
	}
	if groups, err := s.Resume(2, warn); err != nil || len(groups) != 0 || s.Has(2, "a") {
		t.Errorf("a step of poison alone: groups %v, %v; want it to begin anew", groups, err)
	}
}

// Stopped at any operation, a store has all groups or those that are not forgotten.
func TestForgetEveryCrash(t *testing.T) {
	disktest.EveryCrash(t, func(t *testing.T, dir string) (disktest.Job, func()) {
		s := openStore(t, dir, nil)
		mustPut(t, s, record(1, "a"), Record{Step: 1, Task: "b"}, Record{Step: 1, Task: "c"})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		done := false
		job := func(fs disk.FS) error {
			s, err := OpenStore(dir, fs)
			if err != nil {
				return err
			}
			defer s.Close()
			switch got := s.Tasks(1); {
			case slices.Equal(got, []string{"a"}):
				done = true // it was read, so it stays
				return nil
			case done || !slices.Equal(got, []string{"a", "b", "c"}):
				return fmt.Errorf("groups %v, forgotten: %v", got, done)
			}
			err = s.Forget(1, []string{"b", "c"})
			done = err == nil
			return err
		}
		return job, func() {
			if got := openStore(t, dir, nil).Tasks(1); !slices.Equal(got, []string{"a"}) {
				t.Errorf("groups %v, want a", got)
			}
		}
	})
}
