package buffer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/experience"
)

var postgres = flag.String("postgres", "", "the URL of a Postgres server to test with as well; make postgres starts one")

// address is a database of the test's own, and the name of its buffer.
func eachDatabase(t *testing.T, test func(t *testing.T, address, name string)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, "sqlite:///"+filepath.Join(t.TempDir(), "buffer.db"), "experience_buffer")
	})
	if *postgres != "" {
		t.Run("postgres", func(t *testing.T) { test(t, *postgres, fmt.Sprintf("b%d", time.Now().UnixNano())) })
	}
}

func openSQL(t *testing.T, address, name string, o SQLOptions) *SQL {
	t.Helper()
	s, err := OpenSQL(t.Context(), address, name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// full are experiences of a step with everything that the table keeps.
func full(step, n int) []*experience.Experience {
	l := list(step, n)
	for i, e := range l {
		e.Tokens, e.PromptLength, e.Logprobs, e.ActionMask = []int32{1, 2, int32(step)}, 2, []float32{-0.5}, []bool{true}
		e.EID.Batch = fmt.Sprint(step)
		if i > 0 {
			e.SetReward(float64(i))
		}
	}
	return l
}

func TestSQLReadsInOrderOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address, name string) {
		explorer, trainer := openSQL(t, address, name, SQLOptions{}), openSQL(t, address, name, SQLOptions{Timeout: time.Minute})
		if last, err := explorer.Begin(t.Context(), "explorer"); last != 0 || err != nil {
			t.Fatalf("a new writer begins behind step %d, %v", last, err)
		}
		for step := 1; step <= 3; step++ {
			for range 2 { // the second is a repetition after a kill
				if err := explorer.Put(t.Context(), "explorer", step, full(step, 2)); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := names(slices.Concat(full(1, 2), full(2, 2), full(3, 2)))
		for number, n := range []int{4, 1} {
			for range 2 { // a read that is asked for again gets the same
				got, err := trainer.Read(t.Context(), number+1, n, 0)
				if err != nil || !slices.Equal(names(got), want[:n]) {
					t.Fatalf("read %d of %d = %v, %v, want %v", number+1, n, names(got), err, want[:n])
				}
				if number == 0 && (got[0].Reward != nil || *got[1].Reward != 1 || !reflect.DeepEqual(got[1].Tokens, []int32{1, 2, 1}) || got[0].Info.UseCount != 1) {
					t.Errorf("the first experiences came back as %+v, %+v", got[0], got[1])
				}
			}
			want = want[n:]
		}
		if n, err := trainer.Available(t.Context(), 0); n != 1 || err != nil {
			t.Errorf("%d available, %v, want 1", n, err)
		}
		if err := explorer.Finish(t.Context(), "explorer"); err != nil {
			t.Fatal(err)
		}
		if _, err := trainer.Read(t.Context(), 3, 2, 0); !errors.Is(err, ErrClosed) {
			t.Errorf("a read of 2 of the last 1 gives %v, want that the buffer is closed", err)
		}
		if last, err := explorer.Begin(t.Context(), "explorer"); last != 3 || err != nil {
			t.Errorf("the writer goes on behind step %d, %v, want 3", last, err)
		}
		if err := trainer.Forget(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if got, err := trainer.Read(t.Context(), 2, 1, 0); err != nil || got[0].EID.Step != 3 {
			t.Errorf("a forgotten read gives %v, %v; it is a new one", got, err)
		}
	})
}

// With replay there is always something to read: the least used first, the newest of those first.
func TestSQLReplay(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address, name string) {
		s := openSQL(t, address, name, SQLOptions{Replay: true})
		if err := s.Put(t.Context(), "e", 1, full(1, 3)); err != nil {
			t.Fatal(err)
		}
		for number, want := range []string{"[2 1]", "[0 2]", "[1 0]"} {
			got, err := s.Read(t.Context(), number+1, 2, 0)
			if err != nil {
				t.Fatal(err)
			}
			if runs := fmt.Sprint([]int{got[0].EID.Run, got[1].EID.Run}); runs != want {
				t.Errorf("read %d gives runs %s, want %s", number+1, runs, want)
			}
		}
	})
}

func TestSQLStaleness(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address, name string) {
		s := openSQL(t, address, name, SQLOptions{Timeout: 300 * time.Millisecond})
		for step := range 4 {
			if err := s.Put(t.Context(), "e", step, full(step, 2)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Read(t.Context(), 1, 2, 2)
		if err != nil || got[0].Info.ModelVersion != 2 {
			t.Errorf("got %v, %v, want the samples of version 2", names(got), err)
		}
		if _, err := s.Read(t.Context(), 2, 3, 2); !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), "2 of 3") {
			t.Errorf("error %v, want a time-out with 2 of 3", err)
		}
	})
}

// Two writers and a reader at once lose nothing and double nothing.
func TestSQLManyProcesses(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address, name string) {
		const steps = 15
		var wait sync.WaitGroup
		for _, writer := range []string{"a", "b"} {
			s := openSQL(t, address, name, SQLOptions{Retries: 3})
			if _, err := s.Begin(t.Context(), writer); err != nil {
				t.Fatal(err)
			}
			wait.Go(func() {
				for step := 1; step <= steps; step++ {
					l := full(step, 2)
					for _, e := range l {
						e.EID.Task = writer
					}
					if err := s.Put(t.Context(), writer, step, l); err != nil {
						t.Error(err)
					}
				}
				if err := s.Finish(t.Context(), writer); err != nil {
					t.Error(err)
				}
			})
		}
		r, seen := openSQL(t, address, name, SQLOptions{Retries: 3}), map[string][]string{}
		for number := 1; ; number++ {
			l, err := r.Read(t.Context(), number, 3, 0)
			if errors.Is(err, ErrClosed) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range l {
				seen[e.EID.Task] = append(seen[e.EID.Task], fmt.Sprintf("%d.%d", e.EID.Step, e.EID.Run))
			}
		}
		wait.Wait()
		var want []string
		for step := 1; step <= steps; step++ {
			want = append(want, fmt.Sprintf("%d.0", step), fmt.Sprintf("%d.1", step))
		}
		for _, writer := range []string{"a", "b"} {
			if !slices.Equal(seen[writer], want) {
				t.Errorf("of writer %s came %v", writer, seen[writer])
			}
		}
	})
}

// Killed before any of its transactions, writer and reader go on where they were.
func TestSQLKillPoints(t *testing.T) {
	dead := errors.New("dead")
	for at := 1; ; at++ {
		address, calls := "sqlite:///"+filepath.Join(t.TempDir(), "b.db"), 0
		hook := func(string, string) error {
			if calls++; calls >= at {
				return dead
			}
			return nil
		}
		life := func(hook Hook) (got []string, err error) {
			s, err := OpenSQL(context.Background(), address, "x", SQLOptions{Hook: hook})
			if err != nil {
				return nil, err
			}
			defer s.Close()
			last, err := s.Begin(context.Background(), "w")
			for step := last + 1; err == nil && step <= 2; step++ {
				err = s.Put(context.Background(), "w", step, full(step, 3))
			}
			for number := 1; err == nil && number <= 3; number++ {
				var l []*experience.Experience
				l, err = s.Read(context.Background(), number, 2, 0)
				got = append(got, names(l)...)
			}
			return got, err
		}
		_, err := life(hook)
		got, again := life(nil)
		if want := names(slices.Concat(full(1, 3), full(2, 3))); again != nil || !slices.Equal(got, want) {
			t.Fatalf("killed at transaction %d: then %v, %v, want %v", at, got, again, want)
		}
		if err == nil {
			if at < 7 {
				t.Errorf("only %d kill points", at)
			}
			return
		}
	}
}

func TestDatabaseURLs(t *testing.T) {
	for address, want := range map[string]string{
		"gsm8k.db": "is no database URL", "mysql://u@h/d": `kind "mysql" are not supported`, "sqlite://": "names no plain file", "postgresql://h:port/d": "cannot read the database URL",
	} {
		if _, err := OpenSQL(t.Context(), address, "x", SQLOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", address, err, want)
		}
	}
	t.Chdir(t.TempDir())
	openSQL(t, "sqlite:///here is #1.db", `odd "name`, SQLOptions{})
	if found, _ := filepath.Glob("here is #1.db"); len(found) != 1 {
		t.Error("a relative path with odd characters names another file")
	}
}
