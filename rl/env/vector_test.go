package env_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/game"
)

func scripts(turns ...int) (all []env.Env) {
	for _, n := range turns {
		all = append(all, &script{turns: n})
	}
	return all
}

func TestSameStepKeepsTheFinalObservation(t *testing.T) {
	v := env.NewVector(scripts(1, 2), env.VectorOptions{})
	if _, err := v.Reset(7); err != nil {
		t.Fatal(err)
	}
	r, err := v.Step([]string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if r[0].Text != "task" || r[0].Final == nil || r[0].Final.Text != "o1\n" || r[0].Reward != 1 || !r[0].Terminated {
		t.Errorf("the step that ends an episode gives %+v, want the next task and the final observation", r[0])
	}
	if r[1].Text != "o1\n" || r[1].Final != nil || r[1].Terminated {
		t.Errorf("a step in the middle gives %+v", r[1])
	}
	first, second := v.Envs()[0].(*script), v.Envs()[1].(*script)
	if first.seed == 7 || second.seed != 8 {
		t.Errorf("the seeds are %d after autoreset and %d, want another than 7, and 8", first.seed, second.seed)
	}
}

func TestNextStepIgnoresTheActionAfterTheEnd(t *testing.T) {
	v := env.NewVector(scripts(1), env.VectorOptions{Autoreset: env.NextStep})
	if _, err := v.Reset(7); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 3 {
		r, err := v.Step([]string{"a"})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%q %v %v %v", r[0].Text, r[0].Reward, r[0].Done(), r[0].Final != nil))
	}
	want := []string{`"o1\n" 1 true true`, `"task" 0 false false`, `"o1\n" 1 true true`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestStepAt(t *testing.T) {
	v := env.NewVector(scripts(9, 9, 9), env.VectorOptions{})
	if _, err := v.ResetSeeds([]uint64{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := v.StepAt([]int{2}, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	r, err := v.StepAt([]int{2, 0}, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if r[0].Text != "o2\n" || r[1].Text != "o1\n" {
		t.Errorf("results %q and %q are not in the order of the indices", r[0].Text, r[1].Text)
	}
	for want, call := range map[string]func() error{
		"1 actions for 3": func() error { _, err := v.Step([]string{"a"}); return err },
		"given twice":     func() error { _, err := v.StepAt([]int{1, 1}, []string{"a", "b"}); return err },
		"2 seeds for":     func() error { _, err := v.ResetSeeds([]uint64{1, 2}); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q in it", err, want)
		}
	}
}

// TestAsyncIsSync plays a game of every kind, side by side and one after the other, through several autoresets.
func TestAsyncIsSync(t *testing.T) {
	var runs [2][]env.Result
	for k, async := range []bool{false, true} {
		d, err := game.Shipped()
		if err != nil {
			t.Fatal(err)
		}
		r, err := env.NewRegistry(game.Table(d))
		if err != nil {
			t.Fatal(err)
		}
		var envs []env.Env
		for _, spec := range r.Specs() {
			if strings.HasSuffix(spec.ID, "-easy") && !strings.Contains(spec.ID, "WikiGame") { // which needs a dump
				e, err := r.Make(spec.ID, nil)
				if err != nil {
					t.Fatal(err)
				}
				envs = append(envs, e)
			}
		}
		v := env.NewVector(envs, env.VectorOptions{Async: async})
		if _, err := v.Reset(3); err != nil {
			t.Fatal(err)
		}
		for n := range 60 {
			actions := make([]string, len(envs))
			for i, e := range envs {
				player := rng.New(5).Stream("player", n, i)
				actions[i] = e.SampleAction(&player)
			}
			out, err := v.Step(actions)
			if err != nil {
				t.Fatal(err)
			}
			runs[k] = append(runs[k], out...)
		}
	}
	if !reflect.DeepEqual(runs[0], runs[1]) {
		t.Error("an asynchronous vector gives other results than a synchronous one")
	}
}
