package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// crew carries rollouts out after a while, each as long as its repetition's number says.
type crew struct {
	slow time.Duration

	mu     sync.Mutex
	opened []Opening
	open   int
}

func (c *crew) Open(o Opening) (Offered, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = append(c.opened, o)
	c.open++
	return &hand{c, time.Duration(len(c.opened)) * c.slow}, nil
}

type hand struct {
	crew *crew
	took time.Duration
}

func (h *hand) Wait(ctx context.Context) (*experience.Experience, error) {
	select {
	case <-time.After(h.took):
		e := experience.Turn{Prompt: []int32{1}, Response: []int32{2}, Logprobs: []float32{-1}}.Experience(
			experience.EID{})
		e.SetReward(1)
		return e, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (h *hand) ID() string      { return "" }
func (h *hand) Calls() []Answer { return nil }
func (h *hand) Grade(context.Context, []Part) ([]*experience.Experience, error) {
	return nil, nil
}
func (h *hand) Close() {
	h.crew.mu.Lock()
	defer h.crew.mu.Unlock()
	h.crew.open--
}

func TestProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crew{slow: time.Second}
		r := &Rollout{Rollouts: c, Version: 4, Args: map[string]any{"timeout": 5}, Context: 99,
			Params: tinker.SamplingParams{TopK: 3}}
		task := Task{Batch: "eval/held out", ID: "7", Index: 12, Repeat: 3, Seed: 20,
			Row: dataset.Row{{Key: "q", Value: "2+2"}}}
		list, err := Program{}.Run(t.Context(), r, task)
		if err != nil || len(list) != 3 || c.open != 0 {
			t.Fatalf("%v, %v; %d are open", list, err, c.open)
		}
		for i, e := range list {
			want := experience.EID{Batch: "eval/held out", Task: "7", Run: i, Suffix: experience.Suffix(20 + uint64(i))}
			if e.EID != want || e.Info.ModelVersion != 4 || e.Info.TaskIndex != 12 {
				t.Errorf("%+v, want %v", e, want)
			}
		}
		var names []string
		for _, o := range c.opened {
			names = append(names, fmt.Sprint(o.Name, " ", o.Seed))
			if !o.Eval || o.Version != 4 || o.Params.TopK != 3 || o.Context != 99 || len(o.Row) != 1 {
				t.Errorf("opened %+v", o)
			}
		}
		slices.Sort(names)
		if want := "eval-held out-7-0 20,eval-held out-7-1 21,eval-held out-7-2 22"; strings.Join(names, ",") != want {
			t.Errorf("opened %v, want %s", names, want)
		}

		// one without a reward in time fails the task at once, and is no error of the user: it is tried again
		begun := time.Now()
		c = &crew{slow: 4 * time.Second}
		r.Rollouts = c
		list, err = Program{}.Run(t.Context(), r, task)
		if list != nil || err == nil || !strings.Contains(err.Error(), "no reward within 5s") ||
			tinker.CategoryOf(err) == tinker.User || c.open != 0 || time.Since(begun) != 5*time.Second {
			t.Errorf("%v, %v after %v; %d are open", list, err, time.Since(begun), c.open)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		if _, err := (Program{}).Run(ctx, r, task); !errors.Is(err, gone) {
			t.Errorf("a run that ends: %v", err)
		}
	})
}

func TestProgramRefuses(t *testing.T) {
	for want, r := range map[string]*Rollout{
		"--rollouts":              {},
		"timeout":                 {Args: map[string]any{"timeout": 0}, Rollouts: &crew{}},
		"workflow_args.max_turns": {Args: map[string]any{"max_turns": 3}, Rollouts: &crew{}},
	} {
		_, err := Program{}.Run(t.Context(), r, Task{Repeat: 1})
		if err == nil || !strings.Contains(err.Error(), want) || tinker.CategoryOf(err) != tinker.User {
			t.Errorf("%v, want %q", err, want)
		}
		if perr := (Program{}).Prepare(r); (perr != nil) != (want != "--rollouts") {
			t.Errorf("%s: Prepare: %v", want, perr)
		}
	}
}
