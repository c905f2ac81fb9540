package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// size is how much is generated.
type size struct {
	steps, groups, repeat int // of rollouts
	tokens                int // of an answer, about
	lines, metrics        int // of metrics.jsonl
}

var words = strings.Fields("the sum of apples and plums is then twice as much so we add three more and find that " +
	"each " +
	"child has seven left which makes the answer clear but first consider how many boxes were filled on monday")

// generate writes the folder of a job: rollouts/, metrics.jsonl and run.json. The same seed gives the same bytes.
func generate(dir string, s size) error {
	if err := os.MkdirAll(filepath.Join(dir, "rollouts"), 0o755); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	run := `{"seed":1,"date":"2026-11-25T00:00:00Z","trains":{"model":"generated"}}`
	if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte(run), 0o644); err != nil {
		return err
	}
	for step := 1; step <= s.steps; step++ {
		err := writeLines(filepath.Join(dir, "rollouts", fmt.Sprintf("step_%06d.jsonl", step)), s.groups*s.repeat,
			func(i int) any { return sample(r, s, step, i/s.repeat, i%s.repeat) })
		if err != nil {
			return err
		}
	}
	return writeLines(filepath.Join(dir, "metrics.jsonl"), s.lines, func(i int) any {
		m := map[string]float64{"step": float64(i + 1), "critic/rewards/mean": 1 - math.Exp(-float64(i)/3000),
			"time/step": 5 + float64(r.Float64()), "train/kl_sample_train_v1": 0}
		for k := range s.metrics {
			m[fmt.Sprintf("group%d/metric_%d", k/8, k)] = r.NormFloat64()
		}
		return m
	})
}

func writeLines(path string, n int, line func(i int) any) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range n {
		if err := enc.Encode(line(i)); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// sample is a record with an answer of words, about half of them right.
func sample(r *rand.Rand, s size, step, group, repeat int) rollout.Record {
	n := s.tokens/2 + r.IntN(s.tokens)
	answer := make([]string, n)
	tokens, logprobs := make([]int32, n), make([]float32, n)
	for i := range n {
		answer[i] = words[r.IntN(len(words))]
		tokens[i], logprobs[i] = int32(r.IntN(50000)), float32(-r.ExpFloat64()/4)
	}
	right := float64(r.IntN(2))
	reward, advantage := right+0.1, float32(right*2-1)
	question := fmt.Sprintf("Problem %d: how many apples are %d and %d?", (step*s.groups+group)%5000, step, group)
	if step == s.steps/2 && group == 3 && repeat == 1 {
		answer[n/2] = "needle-in-the-haystack"
	}
	return rollout.Record{Version: rollout.Version, ID: fmt.Sprintf("%d/%d/%d/0/%06x", step, group, repeat,
		r.IntN(1<<24)),
		Task: fmt.Sprint(group), ModelVersion: step - 1, TaskIndex: (step*s.groups + group) % 5000,
		Prompt:   "<|im_start|>user\n" + question + "<|im_end|>\n<|im_start|>assistant\n",
		Response: "<think>" + strings.Join(answer, " ") + "</think><answer>" + fmt.Sprint(step+group) + "</answer>",
		Reward:   &reward, Advantage: &advantage, StopReason: []string{"stop", "length"}[r.IntN(10)/9],
		Metrics: map[string]float64{"accuracy": right, "format_score": 0.1}, PromptTokens: tokens[:20], Tokens: tokens,
		Logprobs: logprobs}
}
