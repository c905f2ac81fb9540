// Command idle measures start, memory and first request of a server with 0, 1,000 and 10,000 idle training runs of the
// shipped model. A run that returns to memory must have the bits it had before.
//
// Needs: Linux
// Takes: two minutes
package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

func main() {
	runs := flag.String("runs", "0,1000,10000", "numbers of idle training runs, each at least the one before")
	program.Main("idle", func(p program.Program) error {
		return run(context.Background(), p, strings.Split(*runs, ","))
	})
}

func run(ctx context.Context, trinity program.Program, numbers []string) error {
	s := trinity.Server("--idle", "3s", "--min-free", "0")
	defer s.Close()
	if err := s.Start(); err != nil {
		return err
	}
	var list []tinker.TrainingClient
	for _, text := range numbers {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		if list, err = measure(ctx, s, list, n); err != nil {
			return fmt.Errorf("%s idle runs: %w", text, err)
		}
	}
	return nil
}

// measure makes as many runs as want and waits until all are idle. Then it kills the server and starts it again.
func measure(ctx context.Context, s *program.Server, list []tinker.TrainingClient, want int) ([]tinker.TrainingClient,
	error) {
	svc, err := client.Open(ctx, client.Options{BaseURL: s.URL, APIKey: "tml-idle"})
	if err != nil {
		return nil, err
	}
	made, err := create(ctx, svc, want-len(list))
	if err != nil {
		return nil, err
	}
	list = append(list, made...)
	before := ""
	if len(list) > 0 {
		if before, err = logprobs(ctx, list[0]); err != nil {
			return nil, err
		}
	}
	if err := s.AwaitMetric("trinity_models_resting", len(list)); err != nil {
		return nil, err
	}
	s.Close()
	begun := time.Now()
	if err := s.Start(); err != nil {
		return nil, err
	}
	ready := time.Since(begun)
	if err := s.AwaitMetric("trinity_models_resting", len(list)); err != nil {
		return nil, err
	}
	memory, err := s.Resident()
	if err != nil {
		return nil, err
	}
	slowest, err := first(ctx, list, before)
	fmt.Printf("%d idle runs: start %v, memory %d MiB, first request of one at most %v\n", len(list),
		ready.Round(time.Millisecond), memory>>10, slowest.Round(time.Millisecond))
	return list, err
}

// create makes runs.
func create(ctx context.Context, svc tinker.Service, n int) ([]tinker.TrainingClient, error) {
	made := make([]tinker.TrainingClient, n)
	var g errgroup.Group
	g.SetLimit(8)
	for i := range made {
		g.Go(func() (err error) {
			seed := int64(7)
			made[i], err = svc.CreateModel(ctx, tinker.CreateModelRequest{ModelSeqID: int64(i), BaseModel: "tiny",
				LoRA: tinker.LoRA{Rank: 1, Seed: &seed, TrainAttn: true, TrainMLP: true}})
			return err
		})
	}
	return made, g.Wait()
}

// first asks 20 of the runs and returns the time of the slowest. The first run must answer as before.
func first(ctx context.Context, list []tinker.TrainingClient, before string) (slowest time.Duration, err error) {
	n := min(len(list), 20)
	for i := range n {
		begun := time.Now()
		got, err := logprobs(ctx, list[i*(len(list)/n)])
		if err != nil {
			return slowest, err
		}
		slowest = max(slowest, time.Since(begun))
		if i == 0 && got != before {
			return slowest, fmt.Errorf("a run came back with other bits: %s, was %s", got, before)
		}
	}
	return slowest, nil
}

// logprobs asks a run for the logprobs of one short sequence.
func logprobs(ctx context.Context, m tinker.TrainingClient) (string, error) {
	f, err := m.Forward(ctx, tinker.ForwardRequest{LossFn: tinker.CrossEntropy,
		Data: []tinker.Datum{{ModelInput: tinker.Text([]int32{3, 9, 12}),
			LossFnInputs: map[string]tinker.Tensor{tinker.TargetTokens: tinker.TokenInts([]int32{9, 12, 4}),
				tinker.Weights: tinker.Floats([]float32{1, 1, 1})}}}})
	if err != nil {
		return "", err
	}
	out, err := f.Wait(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(out.LossFnOutputs[0][tinker.Logprobs].Float), nil
}
