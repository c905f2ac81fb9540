package run_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/plugin"
	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/run"
)

const assistant = "examples/assistant/"

func fromRoot(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join("..", path)
}

// The examples with a checker in Python are valid in all stages, with their data.
func TestCheckedExamplesAreValid(t *testing.T) {
	pythontest.Needed(t)
	nothing := func(string) (string, bool) { return "", false }
	for file, stages := range map[string]int{assistant + "assistant.yaml": 2, rules + "rules.yaml": 1} {
		cfg, err := config.Load(fromRoot(file),
			[]string{"model.model_path=examples/tiny/model", "checkpoint_root_dir=" + t.TempDir()}, nothing)
		if err != nil {
			t.Fatal(err)
		}
		in, err := run.Inspect(t.Context(), cfg, run.Options{Find: fromRoot})
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if n := len(in.Parts()); n != stages {
			t.Errorf("%s: %d stages, want %d", file, n, stages)
		}
	}
}

// checkerOf opens a reward function of an example.
func checkerOf(t *testing.T, name string) reward.Func {
	t.Helper()
	pythontest.Needed(t)
	set, err := plugin.Open(t.Context(), plugin.Options{Find: fromRoot,
		Dotted: plugin.Names{Rewards: []string{name}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return set.RewardFuncs()[name]
}

// sentence is a row of the assistant's data. Its call is JSON text.
type sentence struct{ Text, Call string }

// sentences reads a file of the assistant's data, of n rows.
func sentences(t *testing.T, name string, n int) []sentence {
	t.Helper()
	file, err := os.Open(fromRoot(assistant + "data/" + name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var rows []sentence
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var row sentence
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: row %d: %v", name, len(rows)+1, err)
		}
		rows = append(rows, row)
	}
	if len(rows) != n {
		t.Errorf("%s has %d rows, want %d", name, len(rows), n)
	}
	return rows
}

// Each row is a sentence and the call it means: a known function, and arguments that the sentence says.
func TestAssistantData(t *testing.T) {
	const functions = " AddToPlaylist BookRestaurant GetWeather PlayMusic RateBook SearchCreativeWork " +
		"SearchScreeningEvent "
	for name, n := range map[string]int{"train.jsonl": 1000, "test.jsonl": 200} {
		for i, row := range sentences(t, name, n) {
			var call struct {
				Name      string
				Arguments map[string]any
			}
			if err := json.Unmarshal([]byte(row.Call), &call); err != nil {
				t.Fatalf("%s: row %d: %v", name, i+1, err)
			}
			if !strings.Contains(functions, " "+call.Name+" ") || len(call.Arguments) == 0 {
				t.Errorf("%s: row %d calls %q with %v", name, i+1, call.Name, call.Arguments)
			}
			for slot, value := range call.Arguments {
				if said, one := value.(string); one && !strings.Contains(row.Text, said) {
					t.Errorf("%s: row %d: %s is %q, which %q does not say", name, i+1, slot, said, row.Text)
				}
			}
		}
	}
}

// The checker gives the data's own calls 1, and everything else less.
func TestAssistantChecker(t *testing.T) {
	checker := checkerOf(t, assistant+"call.py:reward")
	grade := func(answer, truth string) float64 {
		scores, err := checker(reward.Sample{Response: answer, Truth: truth})
		if err != nil {
			t.Fatal(err)
		}
		return scores.Total()
	}
	for _, row := range sentences(t, "test.jsonl", 200) {
		if got := grade(row.Call, row.Call); got != 1 {
			t.Errorf("%s is worth %g to itself, want 1", row.Call, got)
		}
	}
	const truth = `{"name":"RateBook","arguments":{"object_name":"Emma","rating_value":"4"}}`
	for answer, want := range map[string]float64{
		`{"arguments": {"rating_value": "4", "object_name": "Emma"}, "name": "RateBook"}`:          1,
		`{"name":"RateBook","arguments":{"object_name":"Emma","rating_value":"5"}}`:                0.375,
		`{"name":"RateBook","arguments":{"object_name":"Emma"}}`:                                   0.25 + 0.25*2/3,
		`{"name":"PlayMusic","arguments":{"object_name":"Emma","rating_value":"4"}}`:               0.125,
		`{"name":"RateBook","arguments":{"object_name":"Emma","rating_value":"4"},"because":"so"}`: 0,
		`Sure! {"name":"RateBook","arguments":{"object_name":"Emma","rating_value":"4"}}`:          0,
		`{"name":"RateBook","arguments":[]}`:                                                       0,
		``:                                                                                         0,
	} {
		if got := grade(answer, truth); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s is worth %g, want %g", answer, got, want)
		}
	}
}
