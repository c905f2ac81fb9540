package fleet_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must happen, on a machine that is busy with other things.
const patience = time.Minute

// impatient finds lost workers soon, and on a busy machine those that are late. It is for tests that either suits.
func impatient(o *fleet.HeadOptions) { o.Beat = 100 * time.Millisecond }

// square is a pure function: its answer depends on the task alone.
func square(ctx context.Context, t fleet.Task, have func(string) (string, error)) ([]byte, error) {
	s := sha256.New()
	s.Write([]byte(t.Kind))
	s.Write(t.Payload)
	for _, n := range t.Needs {
		path, err := have(n.Hash)
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s.Write(data)
	}
	return s.Sum(nil), nil
}

// want is the answer of square.
func want(t fleet.Task, blobs ...[]byte) []byte {
	s := sha256.New()
	s.Write([]byte(t.Kind))
	s.Write(t.Payload)
	for _, b := range blobs {
		s.Write(b)
	}
	return s.Sum(nil)
}

func task(i int) fleet.Task { return fleet.NewTask("square", fmt.Appendf(nil, "payload %d", i), 100) }

// journal collects log lines.
type journal struct {
	t  *testing.T
	mu sync.Mutex
	b  strings.Builder
}

func (j *journal) log(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintln(&j.b, time.Now().Format("05.000"), line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// newHead opens a head in a new folder, with changes of the options.
func newHead(t *testing.T, change ...func(*fleet.HeadOptions)) (*fleet.Head, *journal) {
	t.Helper()
	return openHead(t, filepath.Join(t.TempDir(), "fleet"), "127.0.0.1:0", change...)
}

func openHead(t *testing.T, dir, listen string, change ...func(*fleet.HeadOptions)) (*fleet.Head, *journal) {
	t.Helper()
	j := &journal{t: t}
	o := fleet.HeadOptions{Dir: dir, Job: "test", Listen: listen, Version: "v1", Log: j.log}
	for _, c := range change {
		c(&o)
	}
	h, err := fleet.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the head's log:\n%s", j)
		}
	})
	return h, j
}

// hand is a running worker.
type hand struct {
	stop  context.CancelFunc
	drain chan struct{}
	done  chan error
	log   *journal
}

// join starts a worker and stops it at the end of the test.
func join(t *testing.T, h *fleet.Head, name string, f fleet.Function, change ...func(*fleet.JoinOptions)) *hand {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	w := &hand{stop: stop, drain: make(chan struct{}), done: make(chan error, 1), log: &journal{t: t}}
	o := fleet.JoinOptions{Creds: h.Creds(), Cache: filepath.Join(t.TempDir(), name), Drain: w.drain, Log: w.log.log,
		About: fleet.About{Name: name, Version: "v1", Processor: "test", Kernels: "portable", Slots: 1}}
	for _, c := range change {
		c(&o)
	}
	go func() { w.done <- fleet.Join(ctx, o, f) }()
	t.Cleanup(func() {
		stop()
		w.end(t)
		if t.Failed() {
			t.Logf("log of worker %s:\n%s", name, w.log)
		}
	})
	return w
}

// end waits for the worker's end and returns its error; it may be called again.
func (w *hand) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-w.done:
		w.done <- err
		return err
	case <-time.After(patience):
		t.Error("a worker does not end")
		return errors.New("does not end")
	}
}

// doAll computes tasks from..to-1 at once and compares every answer.
func doAll(t *testing.T, h *fleet.Head, from, to int) []fleet.Result {
	t.Helper()
	results := make([]fleet.Result, to-from)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			k := task(from + i)
			r, err := h.Do(t.Context(), k)
			if err != nil {
				t.Errorf("task %d: %v", from+i, err)
			} else if !bytes.Equal(r.Payload, want(k)) {
				t.Errorf("task %d has a wrong answer from %s", from+i, r.Worker)
			}
			results[i] = r
		})
	}
	wg.Wait()
	return results
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never happened: %s", what)
}

// removed reports whether the head has set a worker aside.
func removed(h *fleet.Head, name string) bool {
	return slices.ContainsFunc(h.Status().Workers, func(w fleet.WorkerStatus) bool {
		return w.About.Name == name && w.State == "removed"
	})
}

// answered waits until the head has the answers of n tasks.
func answered(t *testing.T, h *fleet.Head, n int64) {
	t.Helper()
	eventually(t, fmt.Sprint(n, " tasks are done"), func() bool { return h.Status().Done >= n })
}

// here counts the workers that are there.
func here(h *fleet.Head) int {
	n := 0
	for _, w := range h.Status().Workers {
		if w.State == "here" {
			n++
		}
	}
	return n
}
