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

// The files of commit 44f7082 are converted and have what was put.
func TestStoreOfAnOlderVersion(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/44f7082")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := openStore(t, dir, nil)
		got, err := s.Load(3)
		want := map[string]Record{"a": record(3, "a"), "b": record(3, "b"), "broken": {Step: 3, Task: "broken"}}
		if err != nil || !reflect.DeepEqual(got, want) || !slices.Equal(s.Steps(), []int{3, 4}) {
			t.Errorf("steps %v, step 3: %v, %v", s.Steps(), got, err)
		}
		s.Close()
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

// The life of a store is cut at each of its operations on the disk, with and without loss of power. Each time the
// reopened store has every group whose Put returned, whole, and can continue.
func TestStoreKillPoints(t *testing.T) {
	for _, power := range []bool{false, true} {
		at := 1
		for ; ; at++ {
			dir := filepath.Join(t.TempDir(), "explored")
			c := &disktest.Crash{FS: disk.OS(), At: at, PowerLoss: power}
			stored, dropped := live(dir, c)
			if c.Count() < at {
				break
			}
			checkSurvivors(t, fmt.Sprintf("power %v, operation %d", power, at), dir, stored, dropped)
		}
		if at < 15 {
			t.Errorf("only %d kill points", at)
		}
	}
}

// live puts groups of three steps and drops the first; it returns what was promised before the crash.
func live(dir string, fs disk.FS) (stored []Record, dropped int) {
	s, err := OpenStore(dir, fs)
	if err != nil {
		return nil, 0
	}
	defer s.Close()
	for _, r := range []Record{record(1, "a"), record(1, "b"), record(2, "a"), record(2, "b"), record(3, "a")} {
		if s.Put(r) != nil {
			return stored, 0
		}
		stored = append(stored, r)
	}
	if s.Drop(1) != nil {
		return stored, -1 // step 1 may or may not be there
	}
	return stored, 1
}

func checkSurvivors(t *testing.T, when, dir string, stored []Record, dropped int) {
	t.Helper()
	s, err := OpenStore(dir, nil)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer s.Close()
	for _, want := range stored {
		if want.Step == 1 && dropped != 0 {
			continue
		}
		groups, err := s.Load(want.Step)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if got, ok := groups[want.Task]; !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: group %s of step %d is %v", when, want.Task, want.Step, got)
		}
	}
	if err := s.Put(record(9, "next")); err != nil {
		t.Errorf("%s: the store does not continue: %v", when, err)
	}
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
