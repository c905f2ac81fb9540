package explorer

import (
	"slices"
	"sync"
	"testing"
)

// told keeps what an explorer says that it works on.
type told struct {
	mu    sync.Mutex
	texts []string
}

func (l *told) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.texts = append(l.texts, text)
}

func (l *told) wants(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !slices.Contains(l.texts, text) {
			t.Errorf("it said %q, not %q", l.texts, text)
		}
	}
}

// An explorer says what it works on and how much of that is done, tasks that failed too.
func TestBusy(t *testing.T) {
	var said told
	_, err := explore(t, Options{BatchSize: 3, Runners: 2, Busy: said.add}, holed{newWork(), nil}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	said.wants(t, "sampling step 1: 0 of 3 tasks are done", "sampling step 1: 3 of 3 tasks are done")

	f := newFixture(t, t.TempDir(), 9)
	set := Taskset{Name: "held out", Tasks: three{}, Workflow: holed{newWork(), nil}, Repeat: 2}
	x := New(Options{Warn: func(string) {}, BaseModel: "base", BatchSize: 3, Busy: said.add}, service{}, f.sync,
		f.store, f.sink, Taskset{}, []Taskset{set})
	if _, err := x.Evaluate(t.Context(), 4, "", "eval/"); err != nil {
		t.Fatal(err)
	}
	said.wants(t, "evaluating step 4 on held out: 0 of 3 tasks are done",
		"evaluating step 4 on held out: 3 of 3 tasks are done")
}
