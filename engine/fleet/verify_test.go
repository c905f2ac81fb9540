package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
)

// flipped answers with one bit wrong.
func flipped(ctx context.Context, t fleet.Task, have func(string) (string, error)) ([]byte, error) {
	b, err := square(ctx, t, have)
	b[3] ^= 16
	return b, err
}

// manyTasks are enough for every worker to get some.
const manyTasks = 20000

func TestALiarIsNamedAndNothingWrongIsReturned(t *testing.T) {
	for name, local := range map[string]fleet.Function{"the head decides": square, "workers decide": nil} {
		t.Run(name, func(t *testing.T) {
			h, j := newHead(t, func(o *fleet.HeadOptions) { o.Verify, o.Local = 1, local })
			liar := join(t, h, "liar", flipped)
			join(t, h, "honest", square)
			join(t, h, "honest too", square)
			eventually(t, "three workers", func() bool { return here(h) == 3 })
			for i := 0; h.Status().Disputes == 0 && i < manyTasks; i += 30 { // the honest ones may be first with all
				for _, r := range doAll(t, h, i, i+30) {
					if !r.Checked {
						t.Errorf("an answer of %s was not checked", r.Worker)
					}
				}
			}
			var refused *fleet.Refused
			if err := liar.end(t); !asRefused(err, &refused) || !strings.Contains(refused.Reason, "is wrong") {
				t.Errorf("the liar ended with %v; want a refusal that says why", err)
			}
			for _, w := range h.Status().Workers {
				if got, want := w.State == "removed", w.About.Name == "liar"; got != want {
					t.Errorf("worker %s is %s (%s)", w.About.Name, w.State, w.Why)
				}
			}
			if !strings.Contains(j.String(), "worker liar") {
				t.Errorf("the head's log does not name the liar:\n%s", j)
			}
		})
	}
}

// liars are workers with answers that are not those to their tasks.
func liars() map[string]fleet.Function {
	var other atomic.Pointer[[]byte]
	return map[string]fleet.Function{
		"flipped bit": flipped,
		"the answer to another task": func(ctx context.Context, k fleet.Task,
			have func(string) (string, error)) ([]byte, error) {
			b, err := square(ctx, k, have)
			if last := other.Swap(&b); last != nil {
				return *last, err
			}
			return square(ctx, fleet.NewTask("square", []byte("none of this job"), 1), have)
		},
		"nothing": func(context.Context, fleet.Task, func(string) (string, error)) ([]byte, error) { return nil, nil },
		"half an answer": func(ctx context.Context, k fleet.Task, have func(string) (string, error)) ([]byte, error) {
			b, err := square(ctx, k, have)
			return b[:len(b)/2], err
		},
	}
}

func TestWrongAnswersAreFoundWithinOneStep(t *testing.T) {
	for name, lie := range liars() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, j := newHead(t, func(o *fleet.HeadOptions) { o.Verify, o.Local = 1, square })
			join(t, h, "liar", lie)
			join(t, h, "honest", square)
			eventually(t, "two workers", func() bool { return here(h) == 2 })
			for i := 0; h.Status().Disputes == 0 && i < manyTasks; i += 16 { // until it has answered in time
				doAll(t, h, i, i+16) // every answer is right
			}
			for _, w := range h.Status().Workers {
				if got, want := w.State == "removed", w.About.Name == "liar"; got != want {
					t.Errorf("after a step worker %s is %s (%s)", w.About.Name, w.State, w.Why)
				}
			}
			if !strings.Contains(j.String(), "worker liar") {
				t.Errorf("the head's log does not name the liar:\n%s", j)
			}
		})
	}
}

func TestAnswersOfALiarAreDoubted(t *testing.T) {
	t.Parallel()
	h, _ := newHead(t, func(o *fleet.HeadOptions) { o.Verify, o.Local = 0.3, square })
	var lie atomic.Bool // begins to lie when its earlier answers are in
	turns := func(ctx context.Context, k fleet.Task, have func(string) (string, error)) ([]byte, error) {
		if lie.Load() {
			return flipped(ctx, k, have)
		}
		return square(ctx, k, have)
	}
	join(t, h, "turns", turns)
	join(t, h, "honest", square)
	eventually(t, "two workers", func() bool { return here(h) == 2 })
	id := ""
	for _, w := range h.Status().Workers {
		if w.About.Name == "turns" {
			id = w.ID
		}
	}
	given := func(r fleet.Result) bool { return !r.Checked && r.Worker == id }
	before := doAll(t, h, 0, 40)
	for i := 1000; !slices.ContainsFunc(before, given) && i < manyTasks; i += 40 { // the other may be first with all
		before = append(before, doAll(t, h, i, i+40)...)
	}
	for _, r := range before {
		if h.Doubts(r) {
			t.Fatal("an answer is doubted before anybody lied")
		}
	}
	lie.Store(true)
	var after []fleet.Result
	for i := manyTasks; h.Status().Disputes == 0 && i < 2*manyTasks; i++ {
		k := task(i)
		r, err := h.Do(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(r.Payload, want(k)) {
			after = append(after, r)
		}
	}
	eventually(t, "the liar is found", func() bool { return here(h) == 1 })
	doubted := 0
	for _, r := range append(before, after...) {
		if h.Doubts(r) {
			doubted++
			if r.Checked {
				t.Error("a checked answer is doubted")
			}
		}
	}
	for _, r := range after {
		if !h.Doubts(r) {
			t.Error("a wrong answer that was returned is not doubted")
		}
	}
	if doubted == 0 {
		t.Error("no answer is doubted")
	}
	k := task(manyTasks)
	if r, err := h.Do(t.Context(), k); err != nil || !bytes.Equal(r.Payload, want(k)) || h.Doubts(r) {
		t.Errorf("a task done again: %v, from %s", err, r.Worker)
	}
}

// What a liar gave before it was found is computed again once it is found, and the log says what of it was wrong.
func TestUsedAnswersOfALiar(t *testing.T) {
	for name, others := range map[string]int{"another worker": 1, "the head": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 20 { // its first answer may be one that is compared
				if usesLies(t, others) > 0 {
					return
				}
			}
			t.Error("no wrong answer was used")
		})
	}
}

// usesLies has a liar and other workers compute tasks, whose answers are used, until the liar is found. It returns how
// many were wrong.
func usesLies(t *testing.T, others int) (wrong int64) {
	t.Helper()
	h, j := newHead(t, func(o *fleet.HeadOptions) { o.Verify, o.Local = 0.2, square })
	join(t, h, "liar", flipped)
	if others > 0 {
		join(t, h, "honest", square)
	}
	eventually(t, "the workers", func() bool { return here(h) == 1+others })
	for i := 0; h.Status().Disputes == 0 && i < manyTasks; i++ {
		k := task(i)
		r, err := h.Do(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if h.Used(k, r.Lean()); !bytes.Equal(r.Payload, want(k)) {
			wrong++
		}
	}
	eventually(t, "its answers are computed again", func() bool { return h.Status().Audited == wrong })
	said := strings.Contains(j.String(), "; wrong are ") // in one line, and perhaps another for what was used meanwhile
	if s := h.Status(); s.UsedWrong != wrong || said != (wrong > 0) {
		t.Errorf("%d of %d are said to be wrong, want %d; the log has\n%s", s.UsedWrong, s.Audited, wrong, j)
	}
	return wrong
}

func TestALiarThatComesBackIsRefused(t *testing.T) {
	t.Parallel()
	h, _ := newHead(t, func(o *fleet.HeadOptions) { o.Verify, o.Local = 1, square })
	cache := t.TempDir()
	same := func(o *fleet.JoinOptions) { o.Cache = cache }
	liar := join(t, h, "liar", flipped, same)
	eventually(t, "the liar is there", func() bool { return here(h) == 1 })
	for i := 0; h.Status().Disputes == 0 && i < manyTasks; i += 5 { // the head may be first
		doAll(t, h, i, i+5)
	}
	liar.end(t)
	again := join(t, h, "liar", square, same)
	var refused *fleet.Refused
	if err := again.end(t); !asRefused(err, &refused) {
		t.Errorf("a worker that was set aside came back: %v", err)
	}
}

func TestWorkersOfOtherVersionsAreRefused(t *testing.T) {
	t.Parallel()
	h, _ := newHead(t, func(o *fleet.HeadOptions) {
		o.Numerics = "n1"
		o.Admit = func(a fleet.About) error {
			if a.Kernels == "none" {
				return context.Canceled
			}
			return nil
		}
	})
	for name, about := range map[string]fleet.About{
		"install trinity v1": {Version: "v0"}, `numerics are "n2"`: {Version: "v1", Numerics: "n2"},
		"canceled": {Version: "v1", Numerics: "n1", Kernels: "none"},
	} {
		w := join(t, h, "other", square, func(o *fleet.JoinOptions) { o.About = about })
		var refused *fleet.Refused
		if err := w.end(t); !asRefused(err, &refused) || !strings.Contains(refused.Reason, name) {
			t.Errorf("%+v: %v; want %q in it", about, err, name)
		}
	}
	if n := here(h); n > 0 {
		t.Errorf("%d of them are there", n)
	}
}

func asRefused(err error, to **fleet.Refused) bool { return errors.As(err, to) }
