package ownmodel

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run"
)

const tiny = "../../../../examples/tiny/model"

// trainer is a trainer with local models and plenty of everything.
func trainer(out *bytes.Buffer) *Trainer {
	same := func(path string) string { return path }
	env := func(string) (string, bool) { return "", false }
	return &Trainer{Out: out, Now: time.Now, Run: run.Options{Out: out, Find: same, LookupEnv: env, Threads: 1},
		Folder: func(name string) (string, error) { return name, nil },
		Free:   func() int64 { return math.MaxInt64 }, Space: func(string) (int64, error) { return math.MaxInt64, nil },
		Load: func(file string) (*config.Config, error) { return config.Load(file, nil, env) }}
}

// rows are n different questions; line is what is written of each.
func rows(t *testing.T, n int, line string) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, line+"\n", i)
	}
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const good = `{"question": "What is %d + 1?", "answer": "<think></think><answer>1</answer>"}`

// TestMistakes: each ends before training, with what is wrong and what to do.
func TestMistakes(t *testing.T) {
	ok := rows(t, 20, good)
	for name, tt := range map[string]struct {
		change func(*Request, *Trainer, *string)
		want   []string
	}{
		"no rows": {func(r *Request, _ *Trainer, _ *string) { r.Data = rows(t, 0, good) }, []string{"has no rows"}},
		"no file": {func(r *Request, _ *Trainer, _ *string) { r.Data = "nowhere.jsonl" }, []string{"nowhere.jsonl"}},
		"few rows": {func(r *Request, _ *Trainer, _ *string) { r.Data = rows(t, 3, good) },
			[]string{"3 rows to use", "at least 8"}},
		"wrong column": {func(r *Request, _ *Trainer, _ *string) { r.Prompt = "ask" },
			[]string{"no column ask", "question, answer"}},
		"no prompts": {func(r *Request, _ *Trainer, _ *string) { r.Data = rows(t, 9, `{"a": "%d", "answer": "1"}`) },
			[]string{"--prompt-column", "it has a, answer"}},
		"no answers": {func(r *Request, _ *Trainer, _ *string) { r.Data = rows(t, 9, `{"prompt": "%d"}`) },
			[]string{"--answer-column", "FILE.py"}},
		"empty answers": {func(r *Request, _ *Trainer, _ *string) {
			r.Data = rows(t, 9, `{"prompt": "%d", "answer": ""}`)
		}, []string{"column answer is empty in every row", "--answer-column"}},
		"bad line": {func(r *Request, _ *Trainer, _ *string) { r.Data = rows(t, 9, `{"prompt": "%d", "answer": }`) },
			[]string{"rows.jsonl:1", "mend the line or remove it"}},
		"long conversation": {func(r *Request, _ *Trainer, _ *string) {
			r.Data = rows(t, 9, `{"messages": [{"role": "system", "content": "%d"}]}`)
		}, []string{"rows.jsonl:1", "roles system", "prompt_type: messages"}},
		"unknown reward": {func(r *Request, _ *Trainer, _ *string) { r.Reward = "exakt" },
			[]string{"--reward exakt", "exact, contains, math or json"}},
		"reward that fits no answer": {func(r *Request, _ *Trainer, _ *string) { r.Reward = "json" },
			[]string{"rejects every answer", "choose another reward"}},
		"no memory": {func(_ *Request, t *Trainer, _ *string) { t.Free = func() int64 { return 1 << 20 } },
			[]string{"of memory", "smaller model"}},
		"no space": {func(_ *Request, t *Trainer, _ *string) {
			t.Space = func(string) (int64, error) { return 1 << 20, nil }
		}, []string{"the disk of", "--out"}},
		"no network": {func(_ *Request, t *Trainer, _ *string) {
			t.Folder = func(string) (string, error) { return "", errors.New("hub: no route; use a local folder") }
		}, []string{"use a local folder"}},
		"folder in use": {func(_ *Request, _ *Trainer, out *string) { *out = filepath.Dir(ok) },
			[]string{"holds other files (rows.jsonl)", "--out"}},
		"no time": {func(r *Request, _ *Trainer, _ *string) { r.Minutes = 0 }, []string{"--minutes 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			tr, out := trainer(&said), filepath.Join(t.TempDir(), "out")
			r := Request{Model: tiny, Data: ok, Reward: "math", Minutes: 1, Rank: 4}
			tt.change(&r, tr, &out)
			err := tr.Train(t.Context(), r, out)
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v, want %q in it", err, want)
				}
			}
			if _, err := os.Stat(filepath.Join(out, requestFile)); err == nil {
				t.Error("the mistake leaves a folder")
			}
			if strings.Contains(said.String(), "stage") {
				t.Errorf("something ran:\n%s", said.String())
			}
		})
	}
}

// TestTrain makes a model of few rows, and the same request continues it; another one does not.
func TestTrain(t *testing.T) {
	var said bytes.Buffer
	tr, out := trainer(&said), filepath.Join(t.TempDir(), "out")
	r := Request{Model: tiny, Data: rows(t, 40, good), Reward: "math", Minutes: 0.01, Rank: 4}
	if err := tr.Train(t.Context(), r, out); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	for _, want := range []string{"answers are column answer", "answers are labels (1 different", "SFT: 1 steps",
		"of 40 rows 32 are trained on and 8 held out", "before   ", "after    ", "trinity chat ", "--gguf q8_0",
		"trinity studio "} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, said.String())
		}
	}
	said.Reset()
	if err := tr.Train(t.Context(), r, out); err != nil || !strings.Contains(said.String(), "continuing") ||
		!strings.Contains(said.String(), "after    ") {
		t.Errorf("the same request again: %v\n%s", err, said.String())
	}
	r.Rank = 8
	if err := tr.Train(t.Context(), r, out); err == nil || !strings.Contains(err.Error(), "--rank 4") {
		t.Errorf("another request in the same folder: %v", err)
	}
}

// TestRaisingReward: a reward that raises ends the command with its line, and the mended one finds the folder free.
func TestRaisingReward(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	var said bytes.Buffer
	tr, file := trainer(&said), filepath.Join(t.TempDir(), "mine.py")
	tr.Run.Python = run.Python{Executable: python}
	tr.Load = func(path string) (*config.Config, error) {
		return config.Load(path, nil, tr.Run.LookupEnv, tr.Run.Python.Names())
	}
	r := Request{Model: tiny, Data: rows(t, 10, good), Reward: file, Minutes: 0.01, Rank: 4, SFT: true}
	out := filepath.Join(t.TempDir(), "out")
	for _, tt := range []struct{ body, want string }{{"1 / 0", "no row was evaluated"}, {"0.5", ""}} {
		def := "def reward(completion, answer):\n    return " + tt.body + "\n"
		if err := os.WriteFile(file, []byte(def), 0o644); err != nil {
			t.Fatal(err)
		}
		err := tr.Train(t.Context(), r, out)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Fatalf("%s: %v\n%s", tt.body, err, said.String())
		}
	}
	if !strings.Contains(said.String(), "mine.py:2") || !strings.Contains(said.String(), "after    0.500") {
		t.Errorf("it does not name the line, or does not evaluate:\n%s", said.String())
	}
}

// TestStages: what is trained follows from the answers and from what the model can do already.
func TestStages(t *testing.T) {
	for _, tt := range []struct {
		data      Data
		forced    bool
		score     float64
		sft, grpo int
	}{
		{Data{}, false, 0, 0, 1},
		{Data{AnswerFrom: "answer"}, false, 0.1, 1, 1},
		{Data{AnswerFrom: "answer"}, false, 0.7, 0, 1},
		{Data{AnswerFrom: "answer"}, true, 0.7, 1, 0},
		{Data{AnswerFrom: "answer", Labels: true}, false, 0.1, 1, 0},
	} {
		p := plan{Request: Request{SFT: tt.forced}}
		if p.stages(&tt.data, tt.score); p.sft != tt.sft || p.grpo != tt.grpo || len(p.why) == 0 {
			t.Errorf("%+v with score %g: sft %d, grpo %d, because %q", tt.data, tt.score, p.sft, p.grpo, p.why)
		}
	}
}

// TestSteps: the steps fit into the time, and a stage too short to matter is left out.
func TestSteps(t *testing.T) {
	for _, tt := range []struct {
		sft, grpo, minutes int
		wantSFT, wantRL    int
	}{
		{1, 0, 100, 80, 0},
		{1, 0, 1, 30, 0},
		{1, 1, 10, 80, 44},
		{1, 1, 1, 15, 0},
		{0, 1, 1, 0, 6},
		{1, 0, 0, 1, 0},
	} {
		p := plan{sft: tt.sft, grpo: tt.grpo}
		p.steps(160, time.Duration(tt.minutes)*time.Minute, 2*time.Second, 10*time.Second)
		if p.sft != tt.wantSFT || p.grpo != tt.wantRL {
			t.Errorf("%+v: %d and %d steps", tt, p.sft, p.grpo)
		}
	}
}

// TestScoreOf compares with Wilson's interval of 8 of 10 by hand, and with a mean of rewards.
func TestScoreOf(t *testing.T) {
	s, err := scoreOf([]float64{1, 1, 1, 1, 1, 1, 1, 1, 0, 0})
	if err != nil || fmt.Sprintf("%.3f %.3f %.3f", s.mean, s.low, s.high) != "0.800 0.490 0.943" {
		t.Errorf("got %v, %v", s, err)
	}
	s, err = scoreOf([]float64{0.5, 1.5})
	if err != nil || fmt.Sprintf("%.3f %.3f %.3f", s.mean, s.low, s.high) != "1.000 0.020 1.980" {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err := scoreOf(nil); err == nil {
		t.Error("no rewards have a score")
	}
}
