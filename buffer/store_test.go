package buffer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func record(step int, task string) Record {
	r := Record{Step: step, Task: task, Experiences: list(step, 2), Metrics: map[string]float64{"accuracy": 0.5, "a": 1}}
	for i, e := range r.Experiences {
		e.EID.Task = task
		e.Tokens = []int32{1, 2, int32(i)}
		e.SetReward(float64(i))
	}
	return r
}

func openStore(t *testing.T, dir string, hook Hook) *Store {
	t.Helper()
	s, err := OpenStore(dir, hook)
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
	s := openStore(t, dir, nil)
	mustPut(t, s, record(1, "a"), record(2, "a"), record(3, "a"))
	if err := s.Drop(2); err != nil {
		t.Fatal(err)
	}
	if got := s.Steps(); !slices.Equal(got, []int{3}) {
		t.Errorf("steps = %v, want 3", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d files left, want 1", len(entries))
	}
	if got, err := s.Load(1); len(got) != 0 || err != nil {
		t.Errorf("Load of a dropped step = %v, %v", got, err)
	}
}

// A file cut at any byte opens with exactly the groups whose last byte is still there, and takes new ones.
func TestStoreCutAtEveryByte(t *testing.T) {
	first := len(appendRecord(nil, record(1, "a")))
	data := appendRecord(appendRecord(nil, record(1, "a")), record(1, "b"))
	for n := range len(data) + 1 {
		dir := t.TempDir()
		path := filepath.Join(dir, "00000001.log")
		if err := os.WriteFile(path, data[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, dir, nil)
		if s.Has(1, "a") != (n >= first) || s.Has(1, "b") != (n == len(data)) {
			t.Fatalf("cut at %d of %d: tasks %v", n, len(data), s.Tasks(1))
		}
		mustPut(t, s, record(1, "c"))
		if again := openStore(t, dir, nil); !again.Has(1, "c") || len(again.Tasks(1)) != len(s.Tasks(1)) {
			t.Fatalf("cut at %d: after another Put the tasks are %v", n, again.Tasks(1))
		}
		s.Close()
	}
}

// A crash can leave a file longer than its data, ending in zeros.
func TestStoreCutsZeros(t *testing.T) {
	dir := t.TempDir()
	data := append(appendRecord(nil, record(1, "a")), make([]byte, 5000)...)
	if err := os.WriteFile(filepath.Join(dir, "00000001.log"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	if s := openStore(t, dir, nil); !s.Has(1, "a") {
		t.Error("the record before the zeros is lost")
	}
}

// Every bit of a record that another record follows is protected: a flip is an error naming file and offset.
func TestStoreRefusesDamage(t *testing.T) {
	one := appendRecord(nil, record(1, "a"))
	for at := range one {
		dir := t.TempDir()
		data := appendRecord(slices.Clone(one), record(1, "b"))
		data[at] ^= 0x10
		if err := os.WriteFile(filepath.Join(dir, "00000001.log"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := OpenStore(dir, nil)
		if err == nil || !strings.Contains(err.Error(), "00000001.log: offset 0") {
			t.Fatalf("a flipped bit in byte %d gives %v", at, err)
		}
	}
}

func TestStoreRefusesForeignFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "1.log.bak"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(dir, nil); err == nil || !strings.Contains(err.Error(), "1.log.bak is not a file of the store") {
		t.Errorf("error = %v", err)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "00000002.log"), appendRecord(nil, record(1, "a")), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(dir, nil); err == nil || !strings.Contains(err.Error(), "a record of step 1 in the file of step 2") {
		t.Errorf("error = %v", err)
	}
}

// A Put that fails for lack of space leaves the earlier groups whole and later ones possible.
func TestStoreAfterAFailedWrite(t *testing.T) {
	dir := t.TempDir()
	full := false
	s := openStore(t, dir, func(op, path string) error {
		if full && op == "sync" {
			full = false // the truncation that follows succeeds
			return errors.New("no space left on device")
		}
		return nil
	})
	mustPut(t, s, record(1, "a"))
	full = true
	if err := s.Put(record(1, "b")); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("Put on a full disk = %v", err)
	}
	if s.Has(1, "b") {
		t.Error("a group that was not stored is said to be there")
	}
	mustPut(t, s, record(1, "c"))
	s.Close()
	if got := openStore(t, dir, nil).Tasks(1); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("tasks = %v, want a and c", got)
	}
}

var errCrash = errors.New("crash")

// crasher ends the world at the n-th system call and remembers what each file had when it was last synced.
type crasher struct {
	n      int
	calls  int
	dead   bool
	synced map[string]int64
	named  map[string]bool // files whose directory entry is on disk
	last   string          // the call that was refused
	prev   [2]string       // the call before, which has finished when the next comes
}

func (c *crasher) hook(op, path string) error {
	if c.dead {
		return errCrash
	}
	switch c.prev[0] {
	case "sync":
		if info, err := os.Stat(c.prev[1]); err == nil {
			c.synced[c.prev[1]] = info.Size()
		}
	case "sync-dir":
		entries, _ := os.ReadDir(c.prev[1])
		for _, e := range entries {
			c.named[filepath.Join(c.prev[1], e.Name())] = true
		}
	}
	c.prev = [2]string{op, path}
	c.calls++
	if c.calls == c.n {
		c.dead, c.last = true, op
		return errCrash
	}
	return nil
}

// lose takes from each file what no sync had promised to keep: all of it, or the second half.
func (c *crasher) lose(t *testing.T, dir string, all bool) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if all && !c.named[path] {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		keep := c.synced[path]
		if !all {
			keep += (info.Size() - keep) / 2
		}
		if keep < info.Size() {
			if err := os.Truncate(path, keep); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The life of a store is cut before each of its system calls, with three fates for what was not synced. Each time the
// reopened store has every group whose Put returned, whole, and can go on.
func TestStoreKillPoints(t *testing.T) {
	for _, fate := range []string{"unsynced bytes survive", "unsynced bytes are lost", "unsynced bytes are torn"} {
		t.Run(fate, func(t *testing.T) {
			points := 0
			for n := 1; ; n++ {
				dir := filepath.Join(t.TempDir(), "explored")
				c := &crasher{n: n, synced: map[string]int64{}, named: map[string]bool{}}
				stored, dropped := live(dir, c.hook)
				if !c.dead {
					break
				}
				points++
				if fate != "unsynced bytes survive" {
					c.lose(t, dir, fate == "unsynced bytes are lost")
				}
				checkSurvivors(t, fmt.Sprintf("call %d (%s)", n, c.last), dir, stored, dropped)
			}
			if points < 15 {
				t.Errorf("only %d kill points", points)
			}
		})
	}
}

// live puts groups of three steps and drops the first; it returns what was promised before the crash.
func live(dir string, hook Hook) (stored []Record, dropped int) {
	s, err := OpenStore(dir, hook)
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
		t.Errorf("%s: the store does not go on: %v", when, err)
	}
}

func FuzzParseSegment(f *testing.F) {
	f.Add(appendRecord(appendRecord(nil, record(1, "a")), Record{Step: 1, Task: "b"}))
	f.Add(make([]byte, 40))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, whole, err := parseSegment(data, 1)
		if err != nil {
			return
		}
		again, end, err := parseSegment(data[:whole], 1)
		if err != nil || end != whole || len(again) != len(records) {
			t.Fatalf("the part said to be whole reads as %d records to %d: %v", len(again), end, err)
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(appendRecord(nil, record(1, "a"))[headerSize:])
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, err := decodeRecord(payload)
		if err != nil {
			return
		}
		if _, err := decodeRecord(appendRecord(nil, r)[headerSize:]); err != nil {
			t.Fatalf("what was decoded does not decode again: %v", err)
		}
	})
}
