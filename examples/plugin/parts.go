package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// twice asks for one answer, then asks the whole group again with that answer to check. Only the second answers are
// trained on.
type twice struct{}

// Run implements workflow.Workflow.
func (twice) Run(ctx context.Context, r *workflow.Rollout, t workflow.Task) ([]*experience.Experience, error) {
	first := t
	first.Repeat, first.Seed = 1, t.Seed+1
	list, err := workflow.Simple{}.Run(ctx, r, first)
	if err != nil {
		return nil, err
	}
	t.Prompt += "\nA first try: " + list[0].ResponseText
	return workflow.Simple{}.Run(ctx, r, t)
}

// brief adds to the reward of mathematics up to 0.1 for an answer of few tokens.
func brief(s reward.Sample) (reward.Scores, error) {
	scores, err := reward.Math(s)
	return append(scores, reward.Score{Name: "brevity", Value: 0.1 / float64(1+len(s.ResponseTokens)/8)}), err
}

// dropRepeated keeps the first of a task's experiences with the same response.
type dropRepeated struct{}

func newDropRepeated(args map[string]any) (pipeline.Operator, error) {
	if len(args) > 0 {
		return nil, fmt.Errorf("it has no arguments but got %v", args)
	}
	return dropRepeated{}, nil
}

// Process implements pipeline.Operator.
func (dropRepeated) Process(_ context.Context,
	list []*experience.Experience) ([]*experience.Experience, map[string]float64, error) {
	seen := map[string]bool{}
	kept := slices.DeleteFunc(slices.Clone(list), func(e *experience.Experience) bool {
		key := e.EID.TID() + "\n" + e.ResponseText
		was := seen[key]
		seen[key] = true
		return was
	})
	return kept, map[string]float64{"repeated_count": float64(len(list) - len(kept))}, nil
}

// rank scores a group in equal steps from −1, the worst, to 1, the best; equal rewards share a score.
type rank struct{}

func newRank(args algorithm.Args) (algorithm.Advantage, error) {
	if len(args) > 0 {
		return nil, fmt.Errorf("it has no arguments but got %v", args)
	}
	return rank{}, nil
}

// Assign implements algorithm.Advantage.
func (rank) Assign(list []*experience.Experience, _ *rand.Rand) ([]*experience.Experience, map[string]float64, error) {
	for _, g := range experience.GroupBy(list, experience.EID.TID) {
		for _, e := range g.Experiences {
			worse, better := 0, 0
			for _, other := range g.Experiences {
				switch cmp.Compare(other.RewardOr(0), e.RewardOr(0)) {
				case -1:
					worse++
				case 1:
					better++
				}
			}
			score := float32(worse-better) / float32(max(1, len(g.Experiences)-1))
			e.Advantages = make([]float32, e.ResponseLength())
			for i, trained := range e.ActionMask {
				if trained {
					e.Advantages[i] = score
				}
			}
			e.Returns = slices.Clone(e.Advantages)
		}
	}
	return list, map[string]float64{}, nil
}

// backwards reads the rows from the last to the first.
type backwards int

func newBackwards(size int, _ dataset.Plan) (dataset.Selector, error) { return backwards(size), nil }

// Pick implements dataset.Selector.
func (b backwards) Pick(start, n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = int(b) - 1 - (start+i)%int(b)
	}
	return rows
}

// table is a monitor that writes step, key and value.
type table struct {
	file *os.File
	csv  *csv.Writer
}

func openCSV(c monitor.Config, role string) (monitor.Sink, error) {
	f, err := os.OpenFile(filepath.Join(c.Dir, role+".csv"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &table{f, csv.NewWriter(f)}, nil
}

// Write implements monitor.Sink.
func (t *table) Write(_ time.Time, step int, m monitor.Metrics) error {
	for _, key := range m.Keys() {
		if err := t.csv.Write([]string{fmt.Sprint(step), key, fmt.Sprint(m[key])}); err != nil {
			return err
		}
	}
	t.csv.Flush()
	return t.csv.Error()
}

// Close implements monitor.Sink.
func (t *table) Close(bool) error { return t.file.Close() }
