package buffer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// list makes n experiences of one explore step, with runs 0..n-1 and the step as model version.
func list(step, n int) []*experience.Experience {
	out := make([]*experience.Experience, n)
	for i := range out {
		out[i] = &experience.Experience{EID: experience.EID{Task: "t", Run: i, Step: step},
			Info: experience.Info{ModelVersion: step}}
	}
	return out
}

func names(l []*experience.Experience) []string {
	var out []string
	for _, e := range l {
		out = append(out, e.EID.String())
	}
	return out
}

func put(t *testing.T, q *Queue, lists ...[]*experience.Experience) {
	t.Helper()
	for _, l := range lists {
		if err := q.Put(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
}

func TestQueueReadsExactlyInOrder(t *testing.T) {
	q := NewQueue(10, 0)
	a, b, c := list(1, 3), list(2, 3), list(3, 2)
	put(t, q, a, nil, b, c)
	want := names(slices.Concat(a, b, c))
	for _, n := range []int{4, 1, 3} {
		got, err := q.Read(t.Context(), n, 0)
		if err != nil || !slices.Equal(names(got), want[:n]) {
			t.Fatalf("Read(%d) = %v, %v, want %v", n, names(got), err, want[:n])
		}
		want = want[n:]
	}
	if q.Len() != 0 {
		t.Errorf("%d experiences left, want 0", q.Len())
	}
}

func TestQueueBlocksWriterWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(4, 0)
		for i := range 4 {
			put(t, q, list(i, 2))
		}
		done := false
		go func() { done = q.Put(t.Context(), list(4, 2)) == nil }()
		synctest.Wait()
		if done {
			t.Fatal("a fifth list went into a queue of four")
		}
		if _, err := q.Read(t.Context(), 2, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !done || q.Len() != 8 {
			t.Errorf("after a read the writer is done: %v, %d experiences, want true and 8", done, q.Len())
		}
	})
}

func TestQueueReadWaitsForEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1, 0)
		var got []*experience.Experience
		go func() { got, _ = q.Read(t.Context(), 5, 0) }()
		put(t, q, list(1, 2))
		put(t, q, list(2, 2)) // goes in although the capacity is one: the reader has taken the first
		synctest.Wait()
		if got != nil {
			t.Fatal("Read(5) returned with 4 there")
		}
		put(t, q, list(3, 2))
		synctest.Wait()
		if len(got) != 5 || q.Len() != 1 {
			t.Errorf("got %d, %d left, want 5 and 1", len(got), q.Len())
		}
	})
}

func TestQueueReadTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(4, time.Hour)
		put(t, q, list(1, 3))
		start := time.Now()
		_, err := q.Read(t.Context(), 4, 0)
		if !errors.Is(err, ErrTimeout) || time.Since(start) != time.Hour {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if got, err := q.Read(t.Context(), 3, 0); len(got) != 3 {
			t.Errorf("what was there before the timeout is gone: %v", err)
		}
	})
}

func TestQueueClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1, 0)
		put(t, q, list(1, 3))
		var blocked error
		go func() { blocked = q.Put(t.Context(), list(2, 1)) }()
		synctest.Wait()
		q.Close()
		q.Close()
		synctest.Wait()
		if !errors.Is(blocked, ErrClosed) {
			t.Errorf("a waiting writer got %v, want ErrClosed", blocked)
		}
		if got, err := q.Read(t.Context(), 2, 0); len(got) != 2 {
			t.Errorf("what was put before Close cannot be read: %v", err)
		}
		if _, err := q.Read(t.Context(), 2, 0); !errors.Is(err, ErrClosed) {
			t.Errorf("Read of more than is left = %v, want ErrClosed", err)
		}
		if err := q.Put(t.Context(), list(3, 1)); !errors.Is(err, ErrClosed) {
			t.Errorf("Put after Close = %v, want ErrClosed", err)
		}
	})
}

func TestQueueObeysContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1, 0)
		put(t, q, list(1, 1))
		cause := errors.New("ctrl-c")
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make(chan error, 2)
		go func() { errs <- q.Put(ctx, list(2, 1)) }()
		synctest.Wait()
		cancel(cause)
		go func() { _, err := q.Read(ctx, 9, 0); errs <- err }()
		for range 2 {
			if err := <-errs; !errors.Is(err, cause) {
				t.Errorf("error = %v, want the context's cause", err)
			}
		}
	})
}

func TestQueueSkipsStaleVersions(t *testing.T) {
	q := NewQueue(10, 0)
	for v := range 6 {
		put(t, q, list(v, 1))
	}
	got, err := q.Read(t.Context(), 2, 3)
	if err != nil || got[0].Info.ModelVersion != 3 || got[1].Info.ModelVersion != 4 {
		t.Errorf("Read with minVersion 3 = %v, %v, want versions 3 and 4", names(got), err)
	}
}

func TestQueueManyWriters(t *testing.T) {
	q := NewQueue(2, 0)
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 25 {
				if err := q.Put(context.Background(), list(w*100+i, 1+i%3)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { writers.Wait(); q.Close() }()
	seen := make(map[string]bool)
	for {
		got, err := q.Read(t.Context(), 7, 0)
		if errors.Is(err, ErrClosed) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names(got) {
			if seen[n] {
				t.Fatalf("%s was read twice", n)
			}
			seen[n] = true
		}
	}
	if total := 8 * (1*9 + 2*8 + 3*8); len(seen) < total-6 {
		t.Errorf("%d of %d experiences were read", len(seen), total)
	}
}
