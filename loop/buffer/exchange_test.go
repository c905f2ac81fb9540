package buffer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// some are n experiences of a step.
func some(step, n int) []*experience.Experience {
	var list []*experience.Experience
	for i := range n {
		e := experience.Turn{Prompt: []int32{1}, Response: []int32{2}}.Experience(
			experience.EID{Batch: "b", Task: "t", Run: i})
		e.Info.ModelVersion = step
		list = append(list, e)
	}
	return list
}

// An exchange hands over each step once, in order, and ends when it is finished.
func TestExchange(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) Exchange{
		"handover": func(*testing.T) Exchange { return NewHandover(NewQueue(9, 0), waiter{}, nil, Position{Step: 1}) },
		"table": func(t *testing.T) Exchange {
			x, err := OpenTable(t.Context(), TableOptions{SQLOptions: SQLOptions{FS: disk.OS()}, Name: "x", Writer: "w",
				Puts: true,
				URL:  "sqlite:///" + filepath.Join(t.TempDir(), "new", "x.db"), Trainer: waiter{}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { x.Close() })
			return x
		},
	} {
		t.Run(name, func(t *testing.T) { testExchange(t, open(t)) })
	}
}

func testExchange(t *testing.T, x Exchange) {
	ctx := t.Context()
	put := func(step, n int) {
		t.Helper()
		if err := x.Put(ctx, step, some(step, n)); err != nil {
			t.Fatal(err)
		}
	}
	take := func(want ...int) {
		t.Helper()
		list, err := x.Take(ctx, len(want), 0)
		if err != nil || len(list) != len(want) {
			t.Fatalf("%d experiences, %v; want %d", len(list), err, len(want))
		}
		for i, e := range list {
			if e.Info.ModelVersion != want[i] {
				t.Errorf("experience %d is of step %d, want %d", i, e.Info.ModelVersion, want[i])
			}
		}
	}
	put(1, 2)
	take(1, 1)
	before := x.Position()
	put(1, 2) // after a restart
	if short, err := x.Short(ctx, 1, 0); err != nil || !short {
		t.Errorf("a step that was put before is there again (%v)", err)
	}
	put(2, 2)
	take(2)
	if after := x.Position(); after == before {
		t.Errorf("the position stays at %+v", after)
	}
	if err := x.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Take(ctx, 2, 0); !errors.Is(err, dataset.ErrEnd) {
		t.Errorf("with one experience of two left: %v, want the end", err)
	}
}

// A file keeps each step once, after what somebody else wrote, and says that nothing trains on it.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path, state := filepath.Join(dir, "a", "x.jsonl"), filepath.Join(dir, "b", "x.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755),
		os.WriteFile(path, []byte("theirs\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f, err := OpenFile(disk.OS(), path, state)
		if err != nil {
			t.Fatal(err)
		}
		var x Exchange = f
		for step := 1; step <= 2; step++ {
			if err := x.Put(t.Context(), step, some(step, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if step, kept := x.Explored(); step != 2 || !kept {
			t.Errorf("explored %d, kept %v", step, kept)
		}
		if _, err := x.Take(t.Context(), 1, 0); err == nil || !strings.Contains(err.Error(), "storage_type: sql") {
			t.Errorf("taking from a file: %v", err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "\n"); n != 3 || !strings.HasPrefix(string(data), "theirs\n") {
		t.Errorf("%d lines, want the one that was there and two:\n%s", n, data)
	}
}
