package buffer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// postgres is the URL of a Postgres server to test with as well; bench/postgres starts one and names it.
func postgres() string { return os.Getenv("TRINITY_TEST_POSTGRES") }

// address is a database of the test's own, and the name of its buffer.
func eachDatabase(t *testing.T, test func(t *testing.T, address, name string)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, "sqlite:///"+filepath.Join(t.TempDir(), "buffer.db"), "experience_buffer")
	})
	if postgres() != "" {
		t.Run("postgres", func(t *testing.T) { test(t, postgres(), fmt.Sprintf("b%d", time.Now().UnixNano())) })
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
		e.Tokens, e.PromptLength, e.Logprobs, e.ActionMask = []int32{1, 2, int32(step)}, 2, []float32{-0.5},
			[]bool{true}
		e.EID.Batch = fmt.Sprint(step)
		if i > 0 {
			e.SetReward(float64(i))
		}
	}
	return l
}

func TestSQLReadsInOrderOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address, name string) {
		explorer, trainer := openSQL(t, address, name, SQLOptions{}),
			openSQL(t, address, name, SQLOptions{Timeout: time.Minute})
		if last, err := explorer.Begin(t.Context(), "explorer"); last != 0 || err != nil {
			t.Fatalf("a new writer begins after step %d, %v", last, err)
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
				if number == 0 && (got[0].Reward != nil || *got[1].Reward != 1 ||
					!reflect.DeepEqual(got[1].Tokens, []int32{1, 2, 1}) || got[0].Info.UseCount != 1) {
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
			t.Errorf("the writer continues after step %d, %v, want 3", last, err)
		}
		if err := trainer.Forget(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if got, err := trainer.Read(t.Context(), 2, 1, 0); err != nil || got[0].EID.Step != 3 {
			t.Errorf("a forgotten read gives %v, %v; it is a new one", got, err)
		}
	})
}

// versions reads n experiences and returns their versions and uses.
func versions(t *testing.T, s *SQL, number, n int) string {
	t.Helper()
	l, err := s.Read(t.Context(), number, n, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := 0; i < n; i += 2 {
		if l[i].Info.ModelVersion != l[i+1].Info.ModelVersion {
			t.Errorf("the list of version %d is torn", l[i].Info.ModelVersion)
		}
		out = append(out, fmt.Sprintf("%d:%d", l[i].Info.ModelVersion, l[i].Info.UseCount))
	}
	return strings.Join(out, " ")
}

func putVersions(t *testing.T, s *SQL, last int) {
	t.Helper()
	if _, err := s.Begin(t.Context(), "e"); err != nil {
		t.Fatal(err)
	}
	for v := 0; v <= last; v++ {
		if err := s.Put(t.Context(), "e", v+1, full(v, 2)); err != nil {
			t.Fatal(err)
		}
	}
}

// The cases of upstream's test of its queue: eviction, reuse with a cooldown of half a second and reads a second apart,
// a limit of uses.
func TestSQLPriority(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address, name string) {
		s := openSQL(t, address, name+"1", SQLOptions{First: &Priority{Decay: 2, Capacity: 8},
			Timeout: 200 * time.Millisecond})
		putVersions(t, s, 11)
		for i := range 8 {
			if got, want := versions(t, s, i+1, 2), fmt.Sprintf("%d:1", 11-i); got != want {
				t.Errorf("read %d gives %s, want %s", i+1, got, want)
			}
		}
		if _, err := s.Read(t.Context(), 9, 2, 0); !errors.Is(err, ErrTimeout) {
			t.Errorf("a read of nothing: %v", err)
		}
	})
	for _, tt := range []struct {
		p    Priority
		want []string
	}{
		{Priority{Decay: 0.6, Capacity: 4}, []string{"4:1 3:1", "4:2 3:2", "4:3 2:1", "4:4 3:3", "4:5 2:2", "3:4 1:1"}},
		{Priority{Decay: 1.2, Limit: 2, Capacity: 4}, []string{"4:1 3:1", "4:2 2:1", "3:2 1:1"}},
	} {
		eachDatabase(t, func(t *testing.T, address, name string) {
			now := time.Now()
			tt.p.Reuse, tt.p.Cooldown = true, 500*time.Millisecond
			s := openSQL(t, address, name+"2"+fmt.Sprint(tt.p.Limit),
				SQLOptions{First: &tt.p, Now: func() time.Time { return now }})
			putVersions(t, s, 4)
			for i, want := range tt.want {
				if got := versions(t, s, i+1, 4); got != want {
					t.Errorf("limit %d: read %d gives %s, want %s", tt.p.Limit, i+1, got, want)
				}
				now = now.Add(time.Second)
			}
			if got := versions(t, s, 1, 4)[:2]; got != tt.want[0][:2] {
				t.Errorf("the first read asked for again gives version %s", got)
			}
			if err := s.Finish(t.Context(), "e"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Read(t.Context(), 99, 4, 0); !errors.Is(err, ErrClosed) {
				t.Errorf("when nothing new comes nothing is used again: %v", err)
			}
		})
	}
}

// Noise is drawn from the seed: the same order every time, and not that of the versions.
func TestSQLPriorityNoise(t *testing.T) {
	read := func(seed uint64) (out string) {
		s := openSQL(t, "sqlite:///"+filepath.Join(t.TempDir(), "b.db"), "x",
			SQLOptions{First: &Priority{Sigma: 50, Seed: seed}})
		putVersions(t, s, 5)
		return versions(t, s, 1, 12)
	}
	if a, b, c := read(1), read(1), read(2); a != b || a == c || a == "5:1 4:1 3:1 2:1 1:1 0:1" {
		t.Errorf("orders %s, %s and with another seed %s", a, b, c)
	}
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
		if _, err := s.Read(t.Context(), 2, 3, 2); !errors.Is(err, ErrTimeout) ||
			!strings.Contains(err.Error(), "2 of 3") {
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

// An earliest read of a replay buffer sees what was put until there was enough for it, as if it had come at once.
func TestSQLEarliestRead(t *testing.T) {
	for _, tt := range []struct {
		earliest bool
		want     [][]string // of reads of three, by version: the newest first
	}{
		{false, [][]string{{"4.0", "4.1", "3.0"}, {"3.1", "2.0", "2.1"}}},
		{true, [][]string{{"2.0", "2.1", "1.0"}, {"3.0", "3.1", "1.1"}}},
	} {
		s := openSQL(t, "sqlite:///"+filepath.Join(t.TempDir(), "b.db"), "x",
			SQLOptions{Earliest: tt.earliest, First: &Priority{Decay: 2}})
		for step := 1; step <= 4; step++ {
			list := full(step, 2)
			for _, e := range list {
				e.Info.ModelVersion = step
			}
			if err := s.Put(t.Context(), "w", step, list); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range tt.want {
			list, err := s.Read(t.Context(), i+1, 3, 0)
			var got []string
			for _, e := range list {
				got = append(got, fmt.Sprintf("%d.%d", e.EID.Step, e.EID.Run))
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("earliest %v: read %d has %v, %v; want %v", tt.earliest, i+1, got, err, want)
			}
		}
	}
}

// Stopped before any of its transactions, writer and reader continue where they were.
func TestSQLEveryCrash(t *testing.T) {
	disktest.EveryCrash(t, func(t *testing.T, dir string) (disktest.Job, func()) {
		address, got := "sqlite:///"+filepath.Join(dir, "b.db"), []string(nil)
		job := func(fs disk.FS) error {
			got = nil
			s, err := OpenSQL(context.Background(), address, "x", SQLOptions{FS: fs})
			if err != nil {
				return err
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
			return err
		}
		return job, func() {
			if want := names(slices.Concat(full(1, 3), full(2, 3))); !slices.Equal(got, want) {
				t.Errorf("read %v, want %v", got, want)
			}
		}
	})
}

func TestDatabaseURLs(t *testing.T) {
	for address, want := range map[string]string{
		"gsm8k.db": "is not a database URL", "mysql://u@h/d": `kind "mysql" are not supported`,
		"sqlite://": "names no plain file", "postgresql://h:port/d": "cannot read the database URL",
	} {
		if _, err := OpenSQL(t.Context(), address, "x", SQLOptions{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", address, err, want)
		}
	}
	t.Chdir(t.TempDir())
	openSQL(t, "sqlite:///here is #1.db", `odd "name`, SQLOptions{})
	if found, _ := filepath.Glob("here is #1.db"); len(found) != 1 {
		t.Error("a relative path with odd characters names another file")
	}
}
