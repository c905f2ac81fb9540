package buffer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

func record(step int, task string) Record {
	r := Record{Step: step, Task: task, Experiences: list(step, 2), Metrics: map[string]float64{"accuracy": 0.5,
		"a": 1}}
	for i, e := range r.Experiences {
		e.EID.Task = task
		e.Tokens = []int32{1, 2, int32(i)}
		e.SetReward(float64(i))
	}
	return r
}

func openStore(t *testing.T, dir string, fs disk.FS) *Store {
	t.Helper()
	s, err := OpenStore(dir, fs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustPut(t *testing.T, s *Store, records ...Record) {
	t.Helper()
	for _, r := range records {
		if err := s.Put(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStoreSurvivesReopening(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "explored")
	s := openStore(t, dir, nil)
	failed := Record{Step: 3, Task: "broken"}
	mustPut(t, s, record(3, "b"), record(4, "a"), record(3, "a"), failed)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = openStore(t, dir, nil)
	if got := s.Steps(); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("steps = %v, want 3 and 4", got)
	}
	if got := s.Tasks(3); !slices.Equal(got, []string{"a", "b", "broken"}) {
		t.Errorf("tasks of step 3 = %v", got)
	}
	if !s.Has(4, "a") || s.Has(4, "b") || s.Has(5, "a") {
		t.Error("Has does not agree with what was put")
	}
	got, err := s.Load(3)
	want := map[string]Record{"a": record(3, "a"), "b": record(3, "b"), "broken": failed}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Load(3) = %v, %v\nwant %v", got, err, want)
	}
	if err := s.Put(record(3, "a")); err == nil || !strings.Contains(err.Error(), `"a" of step 3 is stored already`) {
		t.Errorf("second Put of a group = %v", err)
	}
	mustPut(t, s, record(3, "c"))
}

func TestStoreDrop(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, disktest.Held{FS: disk.OS()})
	mustPut(t, s, record(1, "a"), record(2, "a"), record(3, "a"))
	if err := s.Drop(2); err != nil {
		t.Fatal(err)
	}
	if got := s.Steps(); !slices.Equal(got, []int{3}) {
		t.Errorf("steps = %v, want 3", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("%d files left, want the log of step 3 and its marks", len(entries))
	}
	if got, err := s.Load(1); len(got) != 0 || err != nil {
		t.Errorf("Load of a dropped step = %v, %v", got, err)
	}
}

// A flipped bit anywhere in a log is an error that names the file: marks say how long the log was.
func TestStoreRefusesDamage(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, nil)
	mustPut(t, s, record(1, "a"), record(1, "b"))
	s.Close()
	path := filepath.Join(dir, "00000001.log")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		data := slices.Clone(whole)
		data[at] ^= 0x10
		for _, damaged := range [][]byte{data, whole[:at]} {
			if err := os.WriteFile(path, damaged, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := OpenStore(dir, nil); err == nil || !strings.Contains(err.Error(), path) {
				t.Fatalf("damage at byte %d gives %v", at, err)
			}
		}
	}
}

// Files from before v0.2 (of commit 44f7082) are refused with the version that converts them.
func TestStoreRefusesFilesBeforeV02(t *testing.T) {
	if _, err := OpenStore("testdata/44f7082", nil); err == nil || !strings.Contains(err.Error(), "v0.2") {
		t.Errorf("error = %v", err)
	}
}

func TestStoreRefusesForeignFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "1.log.bak"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(dir, nil); err == nil ||
		!strings.Contains(err.Error(), "1.log.bak is not a file of the store") {
		t.Errorf("error = %v", err)
	}
	dir = t.TempDir()
	one := openStore(t, dir, nil)
	mustPut(t, one, record(1, "a"))
	one.Close()
	for _, end := range []string{".log", ".log.mark"} {
		if err := os.Rename(filepath.Join(dir, "00000001"+end), filepath.Join(dir, "00000002"+end)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenStore(dir, nil); err == nil ||
		!strings.Contains(err.Error(), "a record of step 1 in the file of step 2") {
		t.Errorf("error = %v", err)
	}
}

// A Put that fails for lack of space leaves the earlier groups whole and later ones possible.
func TestStoreAfterAFailedWrite(t *testing.T) {
	dir := t.TempDir()
	d := &disktest.Full{FS: disk.OS()}
	s := openStore(t, dir, d)
	mustPut(t, s, record(1, "a"))
	d.Now.Store(true)
	if err := s.Put(record(1, "b")); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("Put on a full disk = %v", err)
	}
	if s.Has(1, "b") {
		t.Error("a group that was not stored is said to be there")
	}
	d.Now.Store(false)
	mustPut(t, s, record(1, "c"))
	s.Close()
	if got := openStore(t, dir, nil).Tasks(1); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("tasks = %v, want a and c", got)
	}
}

// Stopped at any operation, a store has every group whose Put returned, whole, and continues.
func TestStoreEveryCrash(t *testing.T) {
	all := []Record{record(1, "a"), record(1, "b"), record(2, "a"), record(2, "b"), record(3, "a")}
	disktest.EveryCrash(t, func(t *testing.T, work string) (disktest.Job, func()) {
		t.Parallel()
		dir, put, dropping := filepath.Join(work, "job", "explored"), 0, false
		job := func(fs disk.FS) error {
			s, err := OpenStore(dir, fs)
			if err != nil {
				return err
			}
			defer s.Close()
			for i, r := range all {
				if r.Step == 1 && dropping {
					continue // it may be there or not
				}
				groups, err := s.Load(r.Step)
				if err != nil {
					return err
				}
				if got, there := groups[r.Task]; (i < put) && !there || there && !reflect.DeepEqual(got, r) {
					return fmt.Errorf("group %s of step %d is %v; %d were put", r.Task, r.Step, got, put)
				}
				if s.Has(r.Step, r.Task) {
					continue
				}
				if err := s.Put(r); err != nil {
					return err
				}
				put = max(put, i+1)
			}
			dropping = true
			return s.Drop(1)
		}
		return job, func() {
			if got := openStore(t, dir, nil).Steps(); !slices.Equal(got, []int{2, 3}) {
				t.Errorf("steps %v, want 2 and 3", got)
			}
		}
	})
}

// Stopped at any operation, a file of experiences has each step once, and rollouts those that were written.
func TestFileEveryCrash(t *testing.T) {
	disktest.EveryCrash(t, func(t *testing.T, work string) (disktest.Job, func()) {
		t.Parallel()
		path, state := filepath.Join(work, "out", "x.jsonl"), filepath.Join(work, "job", "buffer", "x.json")
		samples, put := Rollouts{Dir: filepath.Join(work, "job", "rollouts")}, 0
		job := func(fs disk.FS) error {
			f, err := OpenFile(fs, path, state)
			if err != nil {
				return err
			}
			defer f.Close()
			samples.FS = fs
			last, _ := f.Explored()
			if _, err := os.Stat(samples.Path(last)); last < put || last > 0 && err != nil {
				return fmt.Errorf("step %d was put, the last is %d, %v", put, last, err)
			}
			for step := last + 1; step <= 3; step++ {
				if err := samples.Write(step, list(step, 1)); err != nil {
					return err
				}
				if err := f.Put(t.Context(), step, list(step, 1)); err != nil {
					return err
				}
				put = step
			}
			return nil
		}
		return job, func() {
			data, err := os.ReadFile(path)
			if n := strings.Count(string(data), "\n"); err != nil || n != 3 {
				t.Errorf("the file has %d lines, %v: %s", n, err, data)
			}
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(appendRecord(nil, record(1, "a")))
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, err := decodeRecord(payload)
		if err != nil {
			return
		}
		if _, err := decodeRecord(appendRecord(nil, r)); err != nil {
			t.Fatalf("what was decoded does not decode again: %v", err)
		}
	})
}
