//go:build unix

package buffer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

// stepOf is the samples of a step of groups × 8, of so many tokens, as math_workflow makes them. Without note, they
// have what version 1 of the record had.
func stepOf(groups, prompt, response int, note bool) (list []*experience.Experience) {
	answer := strings.TrimSpace(strings.Repeat("so it is 12 + 7 = 19 ", response/8)) + "</think><answer>19</answer>"
	for i := range groups * 8 {
		e := experience.Turn{Prompt: make([]int32, prompt), Response: make([]int32, response),
			Logprobs: make([]float32, response)}.Experience(
			experience.EID{Batch: "1", Task: fmt.Sprint(i / 8), Run: i % 8, Suffix: "0a1b2c"})
		for k := range e.Tokens {
			e.Tokens[k] = int32(k*7919%49152 + i)
		}
		for k := range e.Logprobs {
			e.Logprobs[k] = -float32(k%17) / 7
		}
		e.PromptText = "<|im_start|>user\n" + strings.Repeat("how many apples ", prompt/4) + "<|im_end|>\n"
		e.ResponseText = "<think>" + answer
		e.SetReward(float64(i % 2))
		e.Advantages = []float32{0.5}
		e.Metrics = map[string]float64{"accuracy": float64(i % 2), "format_score": 0.1}
		if note {
			e.Note = &experience.Note{Messages: `[{"role":"user","content":"` + e.PromptText[17:40] + `"}]`}
		}
		list = append(list, e)
	}
	return list
}

// noted is what the workflow notes of each sample beside grading it.
func noted(list []*experience.Experience) {
	expected := ""
	for i, e := range list {
		if i%8 == 0 {
			expected = reward.Expected("math_reward", "19")
		}
		n := e.Note
		n.Truth, n.Expected = "19", expected
		n.Extracted, n.Graded = reward.Explain("math_reward", e.ResponseText)
		n.Parts = []experience.Part{{Name: "accuracy", Value: 1}, {Name: "format_score", Value: 0.1}}
	}
}

func spent(b *testing.B) float64 {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e6
}

// BenchmarkRecord gives the processor time of a step's record, in ms, and its bytes: version 1, version 2 with
// what the workflow notes for it, the index (which both versions write here), and the entropies.
func BenchmarkRecord(b *testing.B) {
	for _, size := range []struct {
		name                     string
		groups, prompt, response int
	}{{"tiny", 16, 51, 13}, {"gsm8k", 8, 120, 200}, {"long", 8, 400, 2000}} {
		for _, what := range []string{"version1", "version2", "index", "entropies"} {
			b.Run(size.name+"/"+what, func(b *testing.B) {
				benchRecord(b, what, size.groups, size.prompt, size.response)
			})
		}
	}
}

// index makes the index of the first step as Write does it.
func index(b *testing.B, dir string) {
	seg, err := rollout.Scan(b.Context(), filepath.Join(dir, "step_000001.jsonl"), "step_000001.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	if err := rollout.Note(filepath.Join(dir, "index"), "run", seg); err != nil {
		b.Fatal(err)
	}
}

func benchRecord(b *testing.B, what string, groups, prompt, response int) {
	dir := b.TempDir()
	r := Rollouts{FS: disk.OS(), Dir: filepath.Join(dir, "rollouts")}
	list := stepOf(groups, prompt, response, what != "version1")
	h := make([][]float32, len(list))
	for i := range h {
		h[i] = make([]float32, response)
		for k := range h[i] {
			h[i][k] = float32(k%19) / 8
		}
	}
	if err := r.Write(1, list); err != nil {
		b.Fatal(err)
	}
	begun, step := spent(b), 1
	for b.Loop() {
		step++
		switch what {
		case "index":
			index(b, r.Dir)
			continue
		case "entropies":
			for _, e := range list {
				e.EID.Batch = fmt.Sprint(step)
			}
			r.Entropies(1, list, h)
			continue
		case "version2":
			noted(list)
		}
		if err := r.Write(step, list); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((spent(b)-begun)/float64(b.N), "cpu-ms/step")
	if what == "index" {
		if st, err := os.Stat(filepath.Join(r.Dir, "index", "run.idx")); err == nil {
			b.ReportMetric(float64(st.Size())/float64(b.N), "bytes/step")
		}
		return
	}
	name := filepath.Join(r.Dir, fmt.Sprintf("step_%06d.jsonl", step))
	if what == "entropies" {
		name = filepath.Join(r.Dir, rollout.Entropies, filepath.Base(name))
	}
	if info, err := os.Stat(name); err == nil {
		b.ReportMetric(float64(info.Size()), "bytes/step")
	}
}
