package explorer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// service gives out samplers that only know which weights they have.
type service struct{ tinker.Service }

type sampler struct {
	tinker.SamplingClient
	path string
}

func (service) SamplingClient(_ context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	return sampler{path: req.ModelPath + req.BaseModel}, nil
}

// numbers is a taskset of size steps.
type numbers int

func (n numbers) Batch(step, size int) ([]workflow.Task, error) {
	if step > int(n) {
		return nil, dataset.ErrEnd
	}
	list := make([]workflow.Task, max(size, 1))
	for i := range list {
		list[i].Index = step*10 + i
	}
	return list, nil
}

// work makes one experience per repetition whose reward is its seed's last bit, and notes what it ran.
type work struct {
	mu   *sync.Mutex
	ran  map[string]int // task -> attempts
	with map[string]string
	fail func(t workflow.Task, attempt int) error
}

func newWork() work {
	return work{mu: new(sync.Mutex), ran: map[string]int{}, with: map[string]string{}}
}

func (w work) Run(_ context.Context, r *workflow.Rollout, t workflow.Task) ([]*experience.Experience, error) {
	key := t.Batch + "/" + t.ID
	w.mu.Lock()
	w.ran[key]++
	w.with[key] = r.Sampler.(sampler).path
	attempt := w.ran[key]
	w.mu.Unlock()
	defer r.Grading.Grade()()
	if w.fail != nil {
		if err := w.fail(t, attempt); err != nil {
			return nil, err
		}
	}
	var list []*experience.Experience
	for i := range t.Repeat {
		turn := experience.Turn{Prompt: []int32{1}, Response: []int32{int32(t.Seed % 7), 2},
			Logprobs: []float32{-1, -1}}
		e := turn.Experience(experience.EID{Batch: t.Batch, Task: t.ID, Run: i})
		e.Metrics = map[string]float64{"accuracy": float64(i % 2)}
		e.SetReward(float64((t.Seed >> i) & 1))
		e.Info.ModelVersion = r.Version
		list = append(list, e)
	}
	return list, nil
}

// keep is an Advantage that keeps everything.
type keep struct{}

func (keep) Assign(list []*experience.Experience, _ *rand.Rand) ([]*experience.Experience, map[string]float64, error) {
	return list, map[string]float64{"kept": float64(len(list))}, nil
}

// sink notes what it gets as text.
type sink struct{ steps []string }

func (s *sink) Explored(_ context.Context, step int, m map[string]float64, list []*experience.Experience) error {
	text := fmt.Sprintf("step %d, accuracy %v, version %v:", step, m["rollout/accuracy/mean"],
		m["rollout/model_version"])
	for _, e := range list {
		text += fmt.Sprintf(" %s %v", e.EID, *e.Reward)
	}
	s.steps = append(s.steps, text)
	return nil
}

type fixture struct {
	sync  *synchronizer.Synchronizer
	store *buffer.Store
	sink  *sink
	mu    sync.Mutex
	warns []string
}

func newFixture(t *testing.T, dir string, offset int) *fixture {
	t.Helper()
	store, err := buffer.OpenStore(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	f := &fixture{sync: synchronizer.New(synchronizer.Schedule{Interval: 1, Offset: offset}, time.Minute), store: store,
		sink: &sink{}}
	f.sync.Publish(0, "")
	for v := 1; v < 10; v++ {
		f.sync.Publish(v, "v"+strconv.Itoa(v))
	}
	return f
}

func (f *fixture) run(t *testing.T, w work, first int) error {
	t.Helper()
	o := Options{Seed: 5, First: first, Steps: 0, BatchSize: 3, Runners: 2, Retries: 1, Advantage: keep{},
		BaseModel: "base",
		Warn: func(m string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.warns = append(f.warns, m)
		}}
	return New(o, service{}, f.sync, f.store, f.sink, Taskset{Name: "n", Tasks: numbers(3), Workflow: w, Repeat: 2},
		nil).Run(t.Context(), context.Background())
}

func TestStepsInOrderWithTheirVersions(t *testing.T) {
	f, w := newFixture(t, t.TempDir(), 1), newWork()
	if err := f.run(t, w, 1); err != nil {
		t.Fatal(err)
	}
	if len(f.sink.steps) != 3 {
		t.Fatalf("%d steps, want 3 and then the end of the tasks", len(f.sink.steps))
	}
	for key, want := range map[string]string{"1/0": "base", "2/1": "base", "3/2": "v1"} {
		if w.with[key] != want {
			t.Errorf("task %s ran with weights %q, want %q", key, w.with[key], want)
		}
	}
}

// Started again in the middle, only what has no stored group runs, and what is handed on is the same.
func TestStoredGroupsAreNotSampledAgain(t *testing.T) {
	whole, w := newFixture(t, t.TempDir(), 0), newWork()
	if err := whole.run(t, w, 1); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	broken, first := newFixture(t, dir, 0), newWork()
	dead := errors.New("dead")
	ctx, cancel := context.WithCancelCause(t.Context())
	first.fail = func(task workflow.Task, _ int) error {
		if task.Batch == "2" && task.ID == "2" {
			cancel(dead)
			return dead
		}
		return nil
	}
	x := New(Options{Seed: 5, First: 1, BatchSize: 3, Runners: 1, Advantage: keep{}, BaseModel: "base",
		Warn: func(string) {}},
		service{}, broken.sync, broken.store, broken.sink, Taskset{Name: "n", Tasks: numbers(3), Workflow: first,
			Repeat: 2}, nil)
	if err := x.Run(ctx, context.Background()); !errors.Is(err, dead) {
		t.Fatalf("the run ended with %v", err)
	}
	broken.store.Close()
	again, second := newFixture(t, dir, 0), newWork()
	if err := again.run(t, second, 2); err != nil {
		t.Fatal(err)
	}
	if second.ran["2/0"] != 0 || second.ran["2/1"] != 0 || second.ran["2/2"] != 1 {
		t.Errorf("after the restart step 2 ran tasks %v, want only the third", second.ran)
	}
	if want := whole.sink.steps[1:]; !slices.Equal(again.sink.steps, want) {
		t.Errorf("after the restart\n got %q\nwant %q", again.sink.steps, want)
	}
}

func TestFailedTasksAreData(t *testing.T) {
	f, w := newFixture(t, t.TempDir(), 0), newWork()
	w.fail = func(task workflow.Task, attempt int) error {
		switch {
		case task.Batch == "1" && task.ID == "0":
			return errors.New("no answer")
		case task.Batch == "1" && task.ID == "1" && attempt == 1:
			return errors.New("once")
		case task.Batch == "2" && task.ID == "0":
			return tinker.Userf("wrong request")
		}
		return nil
	}
	if err := f.run(t, w, 1); err != nil {
		t.Fatal(err)
	}
	if w.ran["1/0"] != 2 || w.ran["1/1"] != 2 || w.ran["2/0"] != 1 {
		t.Errorf("attempts %v, want 2 at 1/0 and 1/1, and 1 at 2/0, where another would go wrong as well", w.ran)
	}
	if len(f.warns) != 2 {
		t.Errorf("warnings %q, want one for each task left out", f.warns)
	}
}

// A step whose tasks all failed ends the run, and begins anew when whatever made them fail is mended.
func TestFailedStepBeginsAnew(t *testing.T) {
	dir, down := t.TempDir(), true
	f, w := newFixture(t, dir, 0), newWork()
	w.fail = func(workflow.Task, int) error {
		if down {
			return errors.New("server down")
		}
		return nil
	}
	if err := f.run(t, w, 1); err == nil || !strings.Contains(err.Error(), "all 3 tasks failed") {
		t.Errorf("a step whose tasks all failed: %v", err)
	}
	f.store.Close()
	f, down = newFixture(t, dir, 0), false
	if err := f.run(t, w, 1); err != nil || len(f.sink.steps) != 3 || w.ran["1/0"] != 3 {
		t.Errorf("once the server is there: %v, %q, %v", err, f.sink.steps, w.ran)
	}
}

// A connection that ends is not the end of the tasks.
func TestEndOfAConnection(t *testing.T) {
	f := newFixture(t, t.TempDir(), 0)
	err := New(Options{First: 1, BatchSize: 3, Advantage: keep{}}, closing{}, f.sync, f.store, f.sink,
		Taskset{Tasks: numbers(3), Workflow: newWork()}, nil).Run(t.Context(), context.Background())
	if !errors.Is(err, io.EOF) {
		t.Errorf("the run ended with %v", err)
	}
}

// closing is a service behind something that closes connections.
type closing struct{ tinker.Service }

func (closing) SamplingClient(context.Context, tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	return nil, tinker.Serverf("client: no answer: %w", io.EOF)
}
