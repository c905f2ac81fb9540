package plugin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/rl/plugin"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

func TestMain(m *testing.M) {
	pythontest.Direct()
	os.Exit(m.Run())
}

// mortal has an operator that counts its calls and asks a judge, and one that never survives a call.
const mortal = `
import os
from trinity.buffer.operators import EXPERIENCE_OPERATORS, ExperienceOperatorV1


@EXPERIENCE_OPERATORS.register_module("once")
class Once(ExperienceOperatorV1):
    def __init__(self, mark):
        self.mark, self.calls = mark, 0

    async def process(self, exps):
        self.calls += 1
        await self.auxiliary_models[0][0].chat.completions.create(
            model="judge", messages=[{"role": "user", "content": "good?"}])
        if self.calls == 2 and not os.path.exists(self.mark):
            open(self.mark, "w").close()
            os._exit(3)
        return exps, {"calls": self.calls}


@EXPERIENCE_OPERATORS.register_module("never")
class Never(ExperienceOperatorV1):
    async def process(self, exps):
        os._exit(3)
`

// noting is a judge that notes the seeds it is asked with.
type noting struct{ seeds []uint64 }

func (n *noting) Ask(_ context.Context, _ []chat.Message, _ float64, seed uint64) (string, error) {
	n.seeds = append(n.seeds, seed)
	return "yes", nil
}

// TestOperatorLost: an operator whose process is lost, between its calls or in one, begins anew in another and asks the
// same. One that ends every process it is in fails.
func TestOperatorLost(t *testing.T) {
	pythontest.Needed(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mortal.py"), []byte(mortal), 0o644); err != nil {
		t.Fatal(err)
	}
	set, err := plugin.Open(t.Context(), plugin.Options{Dirs: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	judge := &noting{}
	list := set.OperatorsOf(func() ([]workflow.Judge, []string) { return []workflow.Judge{judge}, []string{"judge"} })
	process := func(o pipeline.Operator) (calls float64, err error) {
		_, metrics, err := o.Process(t.Context(), nil)
		return metrics["calls"], err
	}
	open := func(name string, args map[string]any) pipeline.Operator {
		o, err := list[name](args)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	once := open("once", map[string]any{"mark": filepath.Join(dir, "mark")})
	for i, want := range []float64{1, 1, 2, 1} { // in the second call it is lost; before the last one, too
		if i == 3 {
			for _, pid := range set.Host().Processes() {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		}
		if calls, err := process(once); err != nil || calls != want {
			t.Errorf("call %d: the operator counts %v, error %v; want %v", i, calls, err, want)
		}
	}
	if len(judge.seeds) < 5 || len(slices.Compact(judge.seeds)) != 1 {
		t.Errorf("the judge was asked with the seeds %v; want one", judge.seeds)
	}
	_, err = process(open("never", nil))
	if !errors.As(err, new(*python.Lost)) || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("an operator that ends its process: %v", err)
	}
}
