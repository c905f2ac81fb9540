package plugin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/outside"
	"github.com/seed-d9ad8ee0/trinity/rl/plugin"
	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

const (
	likeTRL = `
def reward(prompts, completions, solution, **kwargs):
    assert isinstance(completions[0], str) and len(prompts) == len(completions) == len(solution) == 1
    return [float(s in c) for c, s in zip(completions, solution)]
`
	likeThis = `
import asyncio


def right(text, expected, bonus=0.0):
    return float(expected in text) + bonus


async def parts(completion, level):
    await asyncio.sleep(0)
    return {"length": -0.5 * len(completion), "level": level}


def raises(completion):
    return 1 / 0


def wants(completion, answer, nothing):
    return 0.0
`
)

// A reward may be the name of a function in a file, with the arguments of TRL's or of one answer, or a weighted sum.
func TestRewardFunctions(t *testing.T) {
	pythontest.Needed(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"trl.py": likeTRL, "this.py": likeThis} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"trl.py", "this.py:right", "this.py:parts", "trl.py + 2*this.py:parts", "this.py:raises",
		"this.py:wants", "this.py", "this.py:absent"}
	set := opened(t, dir, names...)
	if len(set.Errors) != 2 {
		t.Errorf("errors %v, want those of this.py without a name and of absent", set.Errors)
	}
	sample := reward.Sample{Prompt: "2+2?", Response: "it is 4", Truth: "4",
		Columns: dataset.Row{{Key: "solution", Value: "4"}, {Key: "level", Value: 3}}}
	for name, want := range map[string]reward.Scores{
		"trl.py":        {{Name: "reward", Value: 1}},
		"this.py:right": {{Name: "right", Value: 1.25}},
		"this.py:parts": {{Name: "length", Value: -3.5}, {Name: "level", Value: 3}},
		"trl.py + 2*this.py:parts": {{Name: "length", Value: -7}, {Name: "level", Value: 6},
			{Name: "reward", Value: 1}},
	} {
		sample.Args = nil
		if name == "this.py:right" {
			sample.Args = map[string]any{"bonus": 0.25}
		}
		got, err := set.RewardFuncs()[name](sample)
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
	for name, want := range map[string]string{"this.py:raises": "division by zero",
		"this.py:wants": "asks for nothing, which is no column of the row; there are solution, level"} {
		if _, err := set.RewardFuncs()[name](sample); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func opened(t *testing.T, dir string, rewards ...string) *plugin.Set {
	t.Helper()
	set, err := plugin.Open(t.Context(), plugin.Options{Dotted: plugin.Names{Rewards: rewards},
		Find: func(path string) string { return filepath.Join(dir, path) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return set
}

// A file that is not there is an error before Python is started.
func TestRewardFileMissing(t *testing.T) {
	name := "right.py + 0.5*absent.py:f"
	if !(&plugin.World{}).Claims(outside.Named{Rewards: []string{name}}) {
		t.Error("nobody claims a function in a file")
	}
	_, err := plugin.Open(t.Context(), plugin.Options{Dotted: plugin.Names{Rewards: []string{name}},
		Find: func(path string) string { return filepath.Join(t.TempDir(), path) }})
	if err == nil || !strings.Contains(err.Error(), "right.py, of the reward") {
		t.Errorf("error %v", err)
	}
}
