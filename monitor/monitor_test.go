package monitor

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 500_000_000, time.UTC)

func open(t *testing.T, dir string, keep int) *Monitor {
	t.Helper()
	m, err := Open(Config{Dir: dir, Keep: keep, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func commit(t *testing.T, m *Monitor, steps ...int) {
	t.Helper()
	for _, step := range steps {
		if _, err := m.Commit(step); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOneLinePerStep(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir, -1)
	m.Add(0, "explorer", Metrics{"eval/test/accuracy/mean@1": 0.25})
	m.Add(1, "explorer", Metrics{"rollout/accuracy/mean": 1.0 / 3, "time/wait": 2})
	m.Add(2, "explorer", Metrics{"rollout/accuracy/mean": 1}) // the explorer is a step ahead
	m.Add(1, "trainer", Metrics{"critic/rewards/mean": 0.1, "actor/lr": 1e-7, "actor/broken": math.NaN()})
	commit(t, m, 0)
	all, err := m.Commit(1)
	if err != nil || len(all) != 5 {
		t.Errorf("Commit(1) = %v, %v, want the five metrics of the step", all, err)
	}
	commit(t, m, 2)
	want := `{"step":0,"eval/test/accuracy/mean@1":0.25}
{"step":1,"actor/broken":null,"actor/lr":1e-07,"critic/rewards/mean":0.1,"rollout/accuracy/mean":0.3333333333333333,` +
		`"time/wait":2}
{"step":2,"rollout/accuracy/mean":1}
`
	if got := read(t, filepath.Join(dir, "metrics.jsonl")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := m.Commit(2); err == nil || !strings.Contains(err.Error(), "step 2 is to be written after step 2") {
		t.Errorf("second commit of a step = %v", err)
	}
}

func TestReadLogInvertsTheWriter(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir, -1)
	want := Metrics{"a": 5e-324, "b": -math.MaxFloat64, "c": 0.1, "d": 1e21, "e": -0.000001, "step/size": 123456789,
		`odd "name"` + "\n": 7}
	m.Add(4, "trainer", want)
	m.Add(4, "explorer", Metrics{"inf": math.Inf(1)})
	commit(t, m, 4)
	lines, err := ReadLog(filepath.Join(dir, "metrics.jsonl"))
	if err != nil || len(lines) != 1 || lines[0].Step != 4 {
		t.Fatalf("ReadLog = %v, %v", lines, err)
	}
	got := lines[0].Metrics
	if !math.IsNaN(got["inf"]) {
		t.Errorf("infinity reads as %v, want NaN", got["inf"])
	}
	delete(got, "inf")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestResumeCutsBack(t *testing.T) {
	line := func(step int) string { return fmt.Sprintf("{\"step\":%d,\"a\":1}\n", step) }
	tests := []struct {
		name string
		file string
		keep int
		want string
		last int
	}{
		{"a new run", line(0) + line(1), -1, "", -1},
		{"one step too many", line(0) + line(1) + line(2), 1, line(0) + line(1), 1},
		{"nothing to cut", line(1) + line(2), 2, line(1) + line(2), 2},
		{"a torn line", line(1) + `{"step":2,"a`, 2, line(1), 1},
		{"a torn line that would be whole JSON", line(1) + `{"step":2}`, 2, line(1), 1},
		{"an empty file", "", 5, "", -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "metrics.jsonl")
			if err := os.WriteFile(path, []byte(tt.file), 0o644); err != nil {
				t.Fatal(err)
			}
			m := open(t, dir, tt.keep)
			if got := read(t, path); got != tt.want || m.Last() != tt.last {
				t.Errorf("file %q, last %d; want %q, %d", got, m.Last(), tt.want, tt.last)
			}
			m.Add(9, "trainer", Metrics{"a": 1})
			commit(t, m, 9)
			if got := read(t, path); got != tt.want+line(9) {
				t.Errorf("after one more step the file is %q", got)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for want, file := range map[string]string{
		"offset 0: not an object of numbers":             "hello\n",
		"offset 11: there is no whole number at key ste": "{\"step\":1}\n{\"a\":1}\n",
		"offset 11: step 1 after step 1":                 "{\"step\":1}\n{\"step\":1}\n",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "metrics.jsonl"), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Config{Dir: dir, Keep: 5}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open of %q = %v, want %q", file, err, want)
		}
	}
}

// TestEveryCrash: stopped at any operation, the file has every step that was committed, once.
func TestEveryCrash(t *testing.T) {
	disktest.EveryCrash(t, func(t *testing.T, work string) (disktest.Job, func()) {
		dir, committed := filepath.Join(work, "job", "monitor"), -1
		job := func(fs disk.FS) error {
			m, err := OpenOn(fs, Config{Dir: dir, Keep: committed})
			if err != nil {
				return err
			}
			defer m.Close()
			if m.Last() != committed {
				return fmt.Errorf("step %d was committed, the last is %d", committed, m.Last())
			}
			for step := committed + 1; step < 3; step++ {
				m.Add(step, "trainer", Metrics{"a": float64(step)})
				if _, err := m.Commit(step); err != nil {
					return err
				}
				committed = step
			}
			return nil
		}
		return job, func() {
			lines, err := ReadLog(filepath.Join(dir, "metrics.jsonl"))
			if err != nil || len(lines) != 3 || lines[2].Metrics["a"] != 2 {
				t.Errorf("the file has %v, %v", lines, err)
			}
		}
	})
}

func TestConcurrentRoles(t *testing.T) {
	m := open(t, t.TempDir(), -1)
	var wg sync.WaitGroup
	for _, role := range []string{"trainer", "explorer"} {
		wg.Go(func() {
			for step := range 50 {
				m.Add(step, role, Metrics{role: float64(step)})
			}
		})
	}
	wg.Wait()
	for step := range 50 {
		got, err := m.Commit(step)
		want := Metrics{"trainer": float64(step), "explorer": float64(step)}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("Commit(%d) = %v, %v", step, got, err)
		}
	}
}

func TestSummary(t *testing.T) {
	got := Summary("rollout/accuracy", []float64{1, math.NaN(), 0, 0.5})
	want := Metrics{"rollout/accuracy/mean": 0.5, "rollout/accuracy/max": 1, "rollout/accuracy/min": 0}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Summary("x", []float64{math.NaN()}); len(got) != 0 {
		t.Errorf("summary of nothing = %v", got)
	}
}

func TestIsTime(t *testing.T) {
	for key, want := range map[string]bool{
		"time/step": true, "perf/total_num_tokens": true, "timing_per_token_ms/update_actor": true,
		"rollout/time/run_execution/mean": true,
		"critic/rewards/mean":             false, "timestamp": false, "rollout/overtime": false,
	} {
		if IsTime(key) != want {
			t.Errorf("IsTime(%q) = %v", key, !want)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add([]byte(`{"step":3,"a":0.1,"b":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		step, m, err := parseLine(b)
		if err != nil {
			return
		}
		again, n, err := parseLine(m.appendLine(nil, step))
		if err != nil || again != step || len(n) != len(m) {
			t.Fatalf("%q is written as %q, which does not read back: %v", b, m.appendLine(nil, step), err)
		}
	})
}
